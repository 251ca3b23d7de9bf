"""Partition style of a StatefulSet, CloneSet or Advanced DaemonSet: its own controller does the work up to a partition.

Invariant: an abandoned revision's pods never stand in the way of another.
"""

from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain.decision import Action
from controller.domain.pods.partition import (
    counted_partition,
    kept_old,
    ordered_partition,
    ordinals,
    partition_of,
    partitioned,
)
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.moving import sets_from_zero
from controller.domain.rollout.moving.sets import (
    Sets,
    blocked_set,
    delete_pods,
    live_strategy,
    make_way,
    owners_limits,
    owners_strategy,
    set_strategy,
)
from controller.domain.rollout.returning import mark_those_that_stayed
from controller.domain.rollout.situation import Situation, position
from controller.domain.rollout.turn import Stop


class PartitionedSet(Sets):
    """The partition follows the steps."""

    def clear(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Its owner has not paused it, its controller has caught up, and nothing abandoned is in the way."""
        blocked = blocked_set(sit, status) or mark_those_that_stayed(sit, status)
        if blocked is not None or sit.returning:
            return blocked or _unstuck(sit, status)
        return make_way(sit, status) if sit.latched else None

    def grow(
        self, sit: Situation, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """The step's partition."""
        kind = sit.workload.kind
        strategy = partitioned(kind, owners_strategy(sit), _partition(sit, index))
        return set_strategy(sit, strategy)

    def keep(self, sit: Situation, index: int) -> tuple[Action, ...]:
        """A hand edit of the partition is corrected; a set that was scaled gets the partition of its new size."""
        return self.grow(sit, index, Readiness(0, 0), give_back=True) if sit.observed else ()

    def clear_abandoned(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Delete what is in the way, and wait until it is gone."""
        return make_way(sit, status)

    def only_stable_returns(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """A StatefulSet's controller goes on calling the stable revision its current one."""
        return sets_from_zero.only_stable_returns(sit, status)

    def returned_as_new(self, sit: Situation, status: RolloutStatus) -> bool:
        """A StatefulSet's controller has called the new revision its current one."""
        return sets_from_zero.returned_as_new(sit, status)

    def bring_stable_back(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """All pods of a StatefulSet are stable ones, and ready."""
        return sets_from_zero.bring_stable_back(sit, status)

    def promoted(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """As for all sets; but a broken pod of a cancelled revision would stop a StatefulSet for ever, and goes."""
        waiting = super().promoted(sit, status)
        if waiting is None or sit.workload.kind is not WorkloadKind.STATEFUL_SET:
            return waiting
        keep = frozenset((position(status).stable_revision, sit.present_revision))
        return Stop(status, delete_pods(sit, keep, unready_only=True), waiting.wake_at)


def _unstuck(sit: Situation, status: RolloutStatus) -> Stop | None:
    """On a way back in batches the other pods wait for their turn; broken ones would stop a StatefulSet for ever."""
    return make_way(sit, status) if sit.workload.kind is WorkloadKind.STATEFUL_SET else None


def _partition(sit: Situation, index: int) -> int | str:
    """The partition of the step. New pods that are there already stay, and no pod beyond the step is made new."""
    kind, replicas, wanted = sit.workload.kind, sit.replicas, sit.wanted(index)
    new = [pod for pod in sit.new_pods if not pod.metadata.deleting]
    rolling = owners_limits(sit).rolling_update
    unordered = rolling is not None and rolling.unordered_update is not None
    if kind is WorkloadKind.STATEFUL_SET and not unordered:
        first = sit.pod_set.spec.ordinals
        there = ordinals(new, first.start if first is not None else 0)
        return ordered_partition(replicas, wanted, there)
    allowed = replicas - kept_old(partition_of(kind, live_strategy(sit)), replicas)
    percent = kind is WorkloadKind.CLONE_SET
    return counted_partition(replicas, max(wanted, min(allowed, len(new))), percent=percent)
