"""A StatefulSet that is scaled to zero during a release, and up again: it returns as its stable revision.

Its own controller calls a rolling update of no pods complete, whatever the partition says, and makes the new revision
the current one; pods then return as that revision. So at zero the strategy is OnDelete, which completes nothing, and
`status.currentRevision` is written back if the controller was faster. After zero the partition holds again, and a pod
that was created as new meanwhile is replaced by a stable one. Invariant: the stable revision is not decided again.
"""

from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain.decision import Action, SetCurrentRevision
from controller.domain.pods.partition import COMPLETES_NOTHING, moving_no_pod
from controller.domain.rollout.moving.from_zero import leaves_stable_pods
from controller.domain.rollout.moving.sets import (
    owners_strategy,
    set_strategy,
    unstable_pods_to_delete,
)
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.rollout.transition import Stop


def only_stable_returns(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Keep the stable revision the set's current one: its controller must complete no update."""
    if not _can_return(context, status):
        return None
    closing = set_strategy(context, COMPLETES_NOTHING)
    if closing or not context.observed:
        return Stop(status, closing)
    remembered = _remembered(context, status)
    return Stop(status, remembered) if remembered else None


def returned_as_new(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The new revision is current although no step was to take all pods: only scaling from zero does that."""
    stable = moonshift_status(status).stable_revision
    if (
        context.admission_paused
        or context.returning
        or not _can_return(context, status)
        or context.pods_of(stable)
    ):
        return False
    filled = bool(context.new_pods) and bool(_remembered(context, status))
    return filled and leaves_stable_pods(context, status)


def bring_stable_back(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Hold the set by the partition again; wait until every pod has the stable revision and is ready.

    The last ready new pod stays until the routes have left it (`send_new_away`), unless it is the only pod.
    """
    if not _can_return(context, status):
        return None
    holding = set_strategy(context, moving_no_pod(context.workload.kind, owners_strategy(context)))
    if holding or not context.observed:
        return Stop(status, holding)
    stable = moonshift_status(status).stable_revision
    counted = context.ready(context.pods_of(stable))
    going = unstable_pods_to_delete(context, stable)
    one_is_left = counted.pods and counted.ready == context.replicas - 1 and len(going) == 1
    actions = (*(() if one_is_left else going), *_remembered(context, status))
    if actions or (not one_is_left and counted.ready < context.replicas):
        return Stop(status, actions, wake_at=counted.next_at)
    return None


def send_new_away(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Delete the last new pod; `bring_stable_back` waits for the stable pod in its place."""
    if not _can_return(context, status):
        return None
    going = unstable_pods_to_delete(context, moonshift_status(status).stable_revision)
    return Stop(status, going) if going else None


def _can_return(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The kind has ordinals, and its stable revision differs from the new one and still exists."""
    ours = moonshift_status(status)
    if context.kind is not WorkloadKind.STATEFUL_SET or ours.by_id:
        return False
    return any(known.name == ours.stable_revision for known in context.workload.revisions)


def _remembered(context: ReleaseContext, status: RolloutStatus) -> tuple[Action, ...]:
    """Write the stable revision back as the set's current one."""
    stable = moonshift_status(status).stable_revision
    if context.pod_set.status.current_revision == stable:
        return ()
    return (SetCurrentRevision(context.kind_name, context.workload_key, context.meta.uid, stable),)
