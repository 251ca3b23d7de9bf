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
from controller.api.workload_kinds import WorkloadKind
from controller.domain.decision import Action, FieldOfSpec, SetCurrentRevision
from controller.domain.pods.doubling import Doubling
from controller.domain.pods.partition import CLOSED, MOVES_NO_POD, moving_no_pod, surging
from controller.domain.pods.running import name_on_pods
from controller.domain.rollout.moving.from_zero import stable_pods_are_missing
from controller.domain.rollout.moving.given_up import SetsWithLimits
from controller.domain.rollout.moving.sets import (
    alive_pods,
    deletion_of,
    owners_strategy,
    set_strategy,
    unstable_pods_to_delete,
)
from controller.domain.rollout.words.release_context import Style
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


class CloneSets(SetsWithLimits):
    """The order in which revisions return from zero replicas, for a CloneSet in any style."""

    def only_stable_returns(self, release: Release) -> Stop | None:
        """No pod is made until the stable revision is the current one."""
        if not _revision(release):
            return None
        closing = _held(release, CLOSED)
        return release.stop(*closing) if closing or not release.observed else None

    def returned_as_new(self, release: Release) -> bool:
        """The new revision is current although no step was to take all pods: only scaling from zero does that."""
        if release.admission_paused or release.ours.returning or not _revision(release):
            return False
        filled = bool(release.new_pods) or not release.workload.pods
        is_new = filled and not _is_current(release, release.ours.stable_revision)
        return is_new and stable_pods_are_missing(release)

    def bring_stable_back(self, release: Release) -> Stop | None:
        """Make the stable revision the current one; wait until every pod has it and is ready."""
        name = _revision(release)
        if not name:
            return None
        stable = release.ours.stable_revision
        if not _is_current(release, stable):
            return release.stop(*_named_again(release, name))
        opening = _held(release, release.owners_scale_limit)
        if opening or not release.observed:
            return release.stop(*opening)
        counted = release.ready(release.pods_of(stable))
        wrong = unstable_pods_to_delete(release, stable)
        if wrong or counted.ready < release.replicas:
            return release.stop(*wrong, wake_at=counted.next_at)
        return None

    def owners_fields(self, release: Release) -> tuple[FieldOfSpec, ...]:
        """A CloneSet without replicas may create pods again."""
        return opened(release)


def opened(release: Release, named: tuple[str, ...] | None = None) -> tuple[FieldOfSpec, ...]:
    """A CloneSet that was closed may create pods again; with `named` given, exactly these pods are to be deleted."""
    live = _scale_strategy(release)
    limit = live.get("maxUnavailable")
    return _written(release, release.owners_scale_limit if limit == CLOSED else limit, named)


def _named_again(release: Release, name: str) -> tuple[Action, ...]:
    """Write the stable revision into the status; while the set is closed and has a pod too few, the value stays."""
    closing = _held(release, CLOSED)
    if closing or not release.observed:
        return closing
    if release.pod_set.status.replicas < release.replicas:
        return (
            SetCurrentRevision(release.kind_name, release.workload_key, release.meta.uid, name),
        )
    alive = alive_pods(release)
    if len(alive) < release.replicas:
        return ()
    unready = [pod for pod in alive if pod.ready_since is None]
    return (deletion_of((unready or alive)[0]),)


def _revision(release: Release) -> str:
    """Name of the stable ControllerRevision, while it is kept."""
    ours = release.ours
    if ours.by_id:
        return ""
    kept = [
        known.object for known in release.workload.revisions if known.name == ours.stable_revision
    ]
    return kept[-1] if ours.stable_revision and kept else ""


def _is_current(release: Release, stable: str) -> bool:
    return name_on_pods(WorkloadKind.CLONE_SET, release.pod_set.status.current_revision) == stable


def _held(release: Release, limit: IntOrPercent | None) -> tuple[Action, ...]:
    """The strategy that keeps every pod old, with this limit of missing pods while it grows."""
    own = owners_strategy(release)
    if release.style is Style.BLUE_GREEN:
        strategy = surging(own, MOVES_NO_POD[WorkloadKind.CLONE_SET], Doubling().surge)
    else:
        strategy = moving_no_pod(WorkloadKind.CLONE_SET, own)
    named = () if release.style is Style.BLUE_GREEN else None
    return set_strategy(release, strategy, _written(release, limit, named))


def _written(
    release: Release, limit: object, named: tuple[str, ...] | None
) -> tuple[FieldOfSpec, ...]:
    live = _scale_strategy(release)
    wanted = changed(live, ("maxUnavailable",), limit)
    if named is not None:
        wanted = changed(wanted, ("podsToDelete",), list(named) or None)
    return () if same(live, wanted) else (FieldOfSpec("scaleStrategy", Raw(json.encode(wanted))),)


def _scale_strategy(release: Release) -> JsonObject:
    return json.decode(release.pod_set.spec.scale_strategy, type=JsonObject | None) or {}
