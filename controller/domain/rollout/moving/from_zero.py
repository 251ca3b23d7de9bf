"""A Deployment that is scaled to zero in mid-release, and back: only its stable revision comes back.

From zero the Deployment's controller fills the newest ReplicaSet, held and paused or not: the one of the present
template where it exists, else the one that was made last. So while there are no replicas the Deployment is latched, and
empty ReplicaSets that would come first go. Where it was back before we looked, the stable ReplicaSet is brought back
beside the other, and the other goes after it. Invariant: which revision is stable is not decided again.
"""

from controller.api import names
from controller.api.rollout import RolloutStatus
from controller.api.workloads import ReplicaSet
from controller.domain.decision import DeleteReplicaSet, ScaleReplicaSet
from controller.domain.pods.deployment import latched
from controller.domain.rollout.moving.holding import hold_again
from controller.domain.rollout.situation import Situation, Style, position
from controller.domain.rollout.turn import Stop


def stable_replica_set(sit: Situation, status: RolloutStatus) -> ReplicaSet | None:
    """The ReplicaSet of the stable revision, if there still is one."""
    stable = position(status).stable_revision
    found = [rs for rs, _ in sit.workload.replica_sets if stable and rs.revision == stable]
    return found[-1] if found else None


def leaves_stable_pods(sit: Situation, status: RolloutStatus) -> bool:
    """No step that the release has been at takes all pods: a step back takes none of the new ones away."""
    ours = position(status)
    been_at = {ours.step, *(visit.step for visit in ours.visits)}
    return max(sit.batch(step) for step in been_at) < sit.replicas


class FromZero:
    """What comes back first."""

    def only_stable_returns(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Latched, and no ReplicaSet is newer than the stable one."""
        stable = stable_replica_set(sit, status)
        if stable is None:
            return None
        if not latched(sit.deployment):
            return Stop(status, (hold_again(sit, status),))
        if not sit.observed:
            return Stop(status)
        first = _deletions(sit, stable)
        return Stop(status, first) if first else None

    def returned_as_new(self, sit: Situation, status: RolloutStatus) -> bool:
        """Held at a step that leaves stable pods, and none is wanted: only scaling from zero does that.

        Not where it went on by itself while it was not held: then people say what is wanted (`stable_gone`).
        """
        stable = stable_replica_set(sit, status)
        if stable is None or stable.active or sit.style is Style.CANARY:
            return False
        if position(status).went_on:
            return False
        held = sit.deployment.spec.min_ready_seconds == names.HOLD_MIN_READY_SECONDS
        filled = any(rs.active for rs in _others(sit, stable))
        return held and filled and leaves_stable_pods(sit, status) and not latched(sit.deployment)

    def bring_stable_back(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Latched, the stable ReplicaSet wants pods, and those are ready."""
        stable = stable_replica_set(sit, status)
        if stable is None:
            return None
        if not latched(sit.deployment):
            return Stop(status, (hold_again(sit, status),))
        if not stable.active:
            return Stop(status, _stable_beside(sit, stable))
        counted = sit.ready(sit.pods_of(stable.revision))
        if counted.ready < counted.pods or not counted.pods:
            return Stop(status, wake_at=counted.next_at)
        return None

    def send_new_away(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Every other ReplicaSet is scaled to zero, once the stable one is there to be filled; its pods are gone."""
        stable = stable_replica_set(sit, status)
        if stable is None or not stable.active:
            return None
        others = [rs for rs in _others(sit, stable) if rs.active]
        gone = tuple(ScaleReplicaSet(rs.metadata.key, rs.metadata.uid, 0) for rs in others)
        alive = any(
            pod.revision != stable.revision and not pod.metadata.deleting
            for pod in sit.workload.pods
        )
        return Stop(status, gone) if gone or alive else None


def _deletions(sit: Situation, stable: ReplicaSet) -> tuple[DeleteReplicaSet, ...]:
    """The ReplicaSets that the Deployment's controller would fill rather than the stable one."""
    return tuple(
        DeleteReplicaSet(rs.metadata.key, rs.metadata.uid)
        for rs in _others(sit, stable)
        if _is_of_template(sit, rs) or _made_after(rs, stable)
    )


def _stable_beside(
    sit: Situation, stable: ReplicaSet
) -> tuple[ScaleReplicaSet | DeleteReplicaSet, ...]:
    """Half of the pods, beside the new ones: what is too many the Deployment's controller takes of the larger one.

    With one pod there is no half, so the new one goes at once. Where nothing else runs the controller fills the stable
    one by itself; sized by us to just what is wanted, it would keep its old marks, and its controller would see a scale
    event in them for ever, and never roll.
    """
    if not any(rs.active for rs in _others(sit, stable)):
        return ()
    if sit.replicas == 1:
        return _deletions(sit, stable)
    return (ScaleReplicaSet(stable.metadata.key, stable.metadata.uid, sit.replicas // 2),)


def _others(sit: Situation, stable: ReplicaSet) -> list[ReplicaSet]:
    return [rs for rs, _ in sit.workload.replica_sets if rs.metadata.uid != stable.metadata.uid]


def _is_of_template(sit: Situation, replica_set: ReplicaSet) -> bool:
    return any(
        rs.metadata.uid == replica_set.metadata.uid and hashed == sit.template_hash
        for rs, hashed in sit.workload.replica_sets
    )


def _made_after(one: ReplicaSet, other: ReplicaSet) -> bool:
    left, right = one.metadata.creation_timestamp, other.metadata.creation_timestamp
    return left is not None and right is not None and left >= right
