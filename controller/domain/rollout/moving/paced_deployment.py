"""Partition style of a native Deployment: its own controller does the work, paced by its knobs.

A latched Deployment loses abandoned revisions before its first move; then it grows, and gives the old share back. The
arithmetic is in `pods/pacing`. Invariant: knobs come from the plan, never from counts of pods.
"""

from controller.api import names
from controller.api.rollout import RolloutStatus
from controller.api.workloads import ReplicaSet, RollingUpdate
from controller.domain.decision import Action, PaceDeployment, ScaleReplicaSet
from controller.domain.pods.deployment import (
    Knobs,
    latched,
    owners_limits,
    standing_knobs,
    write_knobs,
    written,
)
from controller.domain.pods.pacing import next_knobs
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout import routing
from controller.domain.rollout.batches import batch_is_ready
from controller.domain.rollout.moving.deployments import Deployments, blocked_workload
from controller.domain.rollout.situation import Situation, position
from controller.domain.rollout.turn import Stop


class PacedDeployment(Deployments):
    """The knobs of a held Deployment follow the steps."""

    def clear(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """What must be so before a held Deployment is moved at all."""
        blocked = blocked_workload(sit, status)
        if blocked is not None:
            return blocked
        if not latched(sit.deployment):
            return None
        return clear_abandoned(sit, status) or hold_takes_effect(sit, status)

    def grow(
        self, sit: Situation, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """The next move of the knobs."""
        return pace(sit, index, counted, give_back=give_back)

    def regrow(self, sit: Situation, index: int) -> tuple[Action, ...]:
        """Nothing: the Deployment's own controller brings its pods back."""
        return ()

    def old_share(self, sit: Situation, status: RolloutStatus, index: int) -> Stop | None:
        """No surge is left over from growing, and the old pods in its place are gone."""
        if old_share_given_back(sit, index):
            return None
        blocked = blocked_workload(sit, status)
        if blocked is not None:
            return blocked
        due = routing.margin_end(sit, status)
        if due is not None:
            return Stop(status, wake_at=due)
        counted = sit.ready(sit.new_pods)
        return Stop(status, pace(sit, index, counted, give_back=True), counted.next_at)

    def keep(self, sit: Situation, index: int) -> tuple[Action, ...]:
        """A hand edit of the knobs is corrected."""
        if not sit.deployment.observed or sit.deployment.spec.paused:
            return ()
        return pace(sit, index, sit.ready(sit.new_pods), give_back=True)

    def clear_abandoned(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Scale them away, once the Deployment may be moved."""
        return blocked_workload(sit, status) or clear_abandoned(sit, status)

    def refill(self, sit: Situation, stable: Readiness) -> tuple[Action, ...] | None:
        """By surge: the Deployment's controller takes a new pod away only for a stable one that became available.

        Without the hold: it would make the pods that carry the traffic count as unavailable.
        """
        return (_grow_stable(sit, stable.pods),) if latched(sit.deployment) else ()


def abandoned(sit: Situation, status: RolloutStatus) -> tuple[ReplicaSet, ...]:
    """Active ReplicaSets that are neither stable nor new: an earlier release left them."""
    keep = (position(status).stable_revision, sit.new_revision)
    return tuple(rs for rs, _ in sit.workload.replica_sets if rs.active and rs.revision not in keep)


def clear_abandoned(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Scale abandoned revisions to zero and wait until the stable one is whole again.

    Without this the next batch would be taken out of the stable revision (experiment 8: 5+5 and a third revision of
    2 leaves 5+3+2); the Deployment's own controller refills stable once the others want nothing.
    """
    left = abandoned(sit, status)
    if left:
        scale = tuple(ScaleReplicaSet(rs.metadata.key, rs.metadata.uid, 0) for rs in left)
        return Stop(status=status, actions=scale)
    keep = (position(status).stable_revision, sit.new_revision)
    leaving = any(
        pod.revision not in keep and not pod.metadata.deleting for pod in sit.workload.pods
    )
    return Stop(status=status) if leaving else None


def hold_takes_effect(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Pods of the new revision that are there already must not count as available when the latch comes off.

    They do where a rollback had given the owner's minReadySeconds back: the Deployment's controller would take as many
    stable pods in the very pass in which the hold comes on again. So it comes on while the latch still holds.
    """
    counted = any(
        rs.active and hashed == sit.template_hash and rs.status.available_replicas
        for rs, hashed in sit.workload.replica_sets
    )
    if not counted:
        return None
    spec = sit.deployment.spec
    if spec.min_ready_seconds == names.HOLD_MIN_READY_SECONDS:
        return Stop(status=status)
    rolling = spec.strategy.rolling_update or RollingUpdate("25%", "25%")
    held = PaceDeployment(
        workload=sit.workload_key,
        generation=sit.meta.generation,
        max_surge=rolling.max_surge or 0,
        max_unavailable=rolling.max_unavailable or 0,
    )
    return Stop(status=status, actions=(held,))


def present_knobs(sit: Situation) -> Knobs:
    """Where the plan stands: what the held Deployment says, or what is running while it is latched.

    Scaled in, a percentage rounds down to fewer pods than the Deployment's controller left the new revision: what is
    there stands, or the next move would be made on top of it (4 pods with one new one, scaled to 3, came to two).
    """
    running = Knobs(0, _new_pods(sit))
    if latched(sit.deployment):
        return running
    knobs = standing_knobs(sit.deployment)
    return running if knobs.surge == 0 and running.unavailable > knobs.unavailable else knobs


def pace(sit: Situation, index: int, counted: Readiness, *, give_back: bool) -> tuple[Action, ...]:
    """The next move of the Deployment's knobs, or nothing."""
    current = present_knobs(sit)
    enough = batch_is_ready(sit, index, counted)
    knobs = next_knobs(
        current,
        sit.batch(index),
        max(counted.ready, current.new_pods) if enough else counted.ready,
        owners_limits(sit.owners_values, sit.replicas),
        give_back=give_back,
    )
    unlatch = latched(sit.deployment)
    if not unlatch and knobs == current:
        planned = _planned(sit, index) if current.surge == 0 else None
        if planned is None:
            return ()
        knobs = planned
    values = write_knobs(knobs, sit.replicas)
    if not unlatch and written(sit.deployment, values):
        return ()
    return (
        PaceDeployment(
            workload=sit.workload_key,
            generation=sit.meta.generation,
            max_surge=values.max_surge,
            max_unavailable=values.max_unavailable,
            latch=sit.meta.annotations[names.LATCH] if unlatch else "",
        ),
    )


def _planned(sit: Situation, index: int) -> Knobs | None:
    """The limits of plan, step and size alone, whatever sizes came before; those of the highest step that was visited.

    None while fewer new pods are there: maxUnavailable alone would take a stable pod before a new one is ready.
    """
    visits = position(sit.seen.rollout.status).visits
    share = max(sit.batch(step) for step in {index, *(visit.step for visit in visits)})
    return Knobs(0, share) if _new_pods(sit) >= share else None


def _new_pods(sit: Situation) -> int:
    """New pods that the Deployment's controller wants."""
    sizes = [run.size for run in sit.running if run.template_hash == sit.template_hash]
    return sizes[-1] if sizes else 0


def old_share_given_back(sit: Situation, index: int) -> bool:
    """No surge is left over from growing, and the old pods in its place are gone."""
    knobs = present_knobs(sit)
    return knobs.surge == 0 and knobs.new_pods >= sit.batch(index) and sit.deployment.observed


def _grow_stable(sit: Situation, stable: int) -> PaceDeployment:
    owners = sit.owners_values
    knobs = write_knobs(Knobs(sit.replicas - stable, 0), sit.replicas)
    deadline = owners.progress_deadline_seconds
    return PaceDeployment(
        workload=sit.workload_key,
        generation=sit.meta.generation,
        max_surge=knobs.max_surge,
        max_unavailable=knobs.max_unavailable,
        latch=sit.meta.annotations[names.LATCH],
        min_ready_seconds=owners.min_ready_seconds,
        progress_deadline_seconds=600 if deadline is None else deadline,
    )
