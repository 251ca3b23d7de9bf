"""A CloneSet that is scaled to zero during a release, and up again: it returns as its stable revision.

Its own controller calls the new revision the current one as soon as all wanted pods have it, so also when it wants no
pod. Pods are then created as that revision, whatever the partition says. So at zero it may create no pod
(`scaleStrategy.maxUnavailable: 0`). While it wants pods and has too few, it does not change its current revision: we
write the stable revision into its status, and then let it create pods. If it was scaled up before our next pass, one
new pod is deleted to make room, and the others are replaced as stable ones become ready.
Invariant: the stable revision is not decided again.
"""

from msgspec import Raw, json

from controller.api.jsontree import JsonObject, changed, same
from controller.api.quantity import IntOrPercent
from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain.decision import Action, FieldOfSpec, SetCurrentRevision
from controller.domain.pods.doubling import Doubling
from controller.domain.pods.partition import CLOSED, MOVES_NO_POD, moving_no_pod, surging
from controller.domain.pods.running import name_on_pods
from controller.domain.rollout.moving.from_zero import leaves_stable_pods
from controller.domain.rollout.moving.sets import (
    alive_pods,
    deletion_of,
    owners_strategy,
    set_strategy,
    unstable_pods_to_delete,
)
from controller.domain.rollout.release_context import ReleaseContext, Style, moonshift_status
from controller.domain.rollout.transition import Stop


def only_stable_returns(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """No pod is made until the stable revision is the current one."""
    if not _revision(context, status):
        return None
    closing = _held(context, CLOSED)
    return Stop(status, closing) if closing or not context.observed else None


def returned_as_new(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The new revision is current although no step was to take all pods: only scaling from zero does that."""
    stable = moonshift_status(status).stable_revision
    if (
        context.admission_paused
        or context.returning
        or not _revision(context, status)
        or context.pods_of(stable)
    ):
        return False
    filled = bool(context.new_pods) or not context.workload.pods
    return filled and not _is_current(context, stable) and leaves_stable_pods(context, status)


def bring_stable_back(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Make the stable revision the current one; wait until every pod has it and is ready."""
    name = _revision(context, status)
    if not name:
        return None
    stable = moonshift_status(status).stable_revision
    if not _is_current(context, stable):
        return Stop(status, _named_again(context, name))
    opening = _held(context, context.owners_scale_limit)
    if opening or not context.observed:
        return Stop(status, opening)
    counted = context.ready(context.pods_of(stable))
    wrong = unstable_pods_to_delete(context, stable)
    if wrong or counted.ready < context.replicas:
        return Stop(status, wrong, wake_at=counted.next_at)
    return None


def opened(
    context: ReleaseContext, named: tuple[str, ...] | None = None
) -> tuple[FieldOfSpec, ...]:
    """A CloneSet that was closed may create pods again; with `named` given, exactly these pods are to be deleted."""
    if context.kind is not WorkloadKind.CLONE_SET:
        return ()
    live = _scale_strategy(context)
    limit = live.get("maxUnavailable")
    return _written(context, context.owners_scale_limit if limit == CLOSED else limit, named)


def _named_again(context: ReleaseContext, name: str) -> tuple[Action, ...]:
    """Write the stable revision into the status; while the set is closed and has a pod too few, the value stays."""
    closing = _held(context, CLOSED)
    if closing or not context.observed:
        return closing
    if context.pod_set.status.replicas < context.replicas:
        return (
            SetCurrentRevision(context.kind_name, context.workload_key, context.meta.uid, name),
        )
    alive = alive_pods(context)
    if len(alive) < context.replicas:
        return ()
    unready = [pod for pod in alive if pod.ready_since is None]
    return (deletion_of((unready or alive)[0]),)


def _revision(context: ReleaseContext, status: RolloutStatus) -> str:
    """Name of the stable ControllerRevision, while it is kept."""
    ours = moonshift_status(status)
    if ours.by_id:
        return ""
    kept = [
        known.object for known in context.workload.revisions if known.name == ours.stable_revision
    ]
    return kept[-1] if ours.stable_revision and kept else ""


def _is_current(context: ReleaseContext, stable: str) -> bool:
    return name_on_pods(WorkloadKind.CLONE_SET, context.pod_set.status.current_revision) == stable


def _held(context: ReleaseContext, limit: IntOrPercent | None) -> tuple[Action, ...]:
    """The strategy that keeps every pod old, with this limit of missing pods while it grows."""
    own = owners_strategy(context)
    if context.style is Style.BLUE_GREEN:
        strategy = surging(own, MOVES_NO_POD[WorkloadKind.CLONE_SET], Doubling().surge)
    else:
        strategy = moving_no_pod(WorkloadKind.CLONE_SET, own)
    named = () if context.style is Style.BLUE_GREEN else None
    return set_strategy(context, strategy, _written(context, limit, named))


def _written(
    context: ReleaseContext, limit: object, named: tuple[str, ...] | None
) -> tuple[FieldOfSpec, ...]:
    live = _scale_strategy(context)
    wanted = changed(live, ("maxUnavailable",), limit)
    if named is not None:
        wanted = changed(wanted, ("podsToDelete",), list(named) or None)
    return () if same(live, wanted) else (FieldOfSpec("scaleStrategy", Raw(json.encode(wanted))),)


def _scale_strategy(context: ReleaseContext) -> JsonObject:
    return json.decode(context.pod_set.spec.scale_strategy, type=JsonObject | None) or {}
