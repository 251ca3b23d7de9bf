"""A StatefulSet that is scaled to zero in mid-release, and back: it comes back as its stable revision.

Its own controller calls a rolling update of no pods complete, whatever the partition says, and makes the new revision
its current one; the pods then come back as that. So at zero the strategy is OnDelete, which completes nothing, and
`status.currentRevision` is written back where the controller was faster. Back from zero the partition holds again, and
a pod that was made meanwhile is replaced by a stable one. Invariant: which revision is stable is not decided again.
"""

from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod
from controller.domain.decision import Action, DeletePod, SetCurrentRevision
from controller.domain.pods.partition import COMPLETES_NOTHING, held
from controller.domain.rollout.moving.from_zero import leaves_stable_pods
from controller.domain.rollout.moving.sets import owners_strategy, set_strategy
from controller.domain.rollout.situation import Situation, position
from controller.domain.rollout.turn import Stop


def only_stable_returns(sit: Situation, status: RolloutStatus) -> Stop | None:
    """The set's controller still calls the stable revision its current one, and completes nothing."""
    if not _can_return(sit, status):
        return None
    closing = set_strategy(sit, COMPLETES_NOTHING)
    if closing or not sit.observed:
        return Stop(status, closing)
    remembered = _remembered(sit, status)
    return Stop(status, remembered) if remembered else None


def returned_as_new(sit: Situation, status: RolloutStatus) -> bool:
    """The new revision is current although no step was to take all pods: only scaling from zero does that."""
    stable = position(status).stable_revision
    if sit.latched or sit.returning or not _can_return(sit, status) or sit.pods_of(stable):
        return False
    filled = bool(sit.new_pods) and bool(_remembered(sit, status))
    return filled and leaves_stable_pods(sit, status)


def bring_stable_back(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Held by the partition again, every pod is of the stable revision, and ready."""
    if not _can_return(sit, status):
        return None
    holding = set_strategy(sit, held(sit.workload.kind, owners_strategy(sit)))
    if holding or not sit.observed:
        return Stop(status, holding)
    actions = (*_replaced(sit, status), *_remembered(sit, status))
    counted = sit.ready(sit.pods_of(position(status).stable_revision))
    if actions or counted.ready < sit.replicas:
        return Stop(status, actions, wake_at=counted.next_at)
    return None


def _can_return(sit: Situation, status: RolloutStatus) -> bool:
    """A kind with ordinals, whose stable revision is another one, and still kept."""
    ours = position(status)
    if sit.kind is not WorkloadKind.STATEFUL_SET or ours.by_id:
        return False
    return any(known.name == ours.stable_revision for known in sit.workload.revisions)


def _remembered(sit: Situation, status: RolloutStatus) -> tuple[Action, ...]:
    """The stable revision is written back as the set's current one."""
    stable = position(status).stable_revision
    if sit.pod_set.status.current_revision == stable:
        return ()
    return (SetCurrentRevision(sit.kind_name, sit.workload_key, sit.meta.uid, stable),)


def _replaced(sit: Situation, status: RolloutStatus) -> tuple[DeletePod, ...]:
    """Pods that did not come back as stable ones: those that serve nobody at once, the others one after another."""
    alive = [pod for pod in sit.workload.pods if not pod.metadata.deleting]
    wrong = [pod for pod in alive if pod.revision != position(status).stable_revision]
    unready = [pod for pod in wrong if pod.ready_since is None]
    whole = len(alive) >= sit.replicas and all(pod.ready_since is not None for pod in alive)
    return tuple(map(_deleted, unready or (wrong[-1:] if whole else ())))


def _deleted(pod: Pod) -> DeletePod:
    return DeletePod(pod.metadata.key, pod.metadata.uid)
