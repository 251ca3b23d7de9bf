"""Partition style of a StatefulSet, CloneSet or Advanced DaemonSet: its own controller updates pods up to a partition.

Invariant: pods of an abandoned revision never block another one.
"""

from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain.decision import Action, FieldOfSpec
from controller.domain.pods.partition import (
    counted_partition,
    kept_old,
    ordered_partition,
    ordinals,
    partition_of,
    partitioned,
)
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.moving import clones_from_zero, nodes_from_zero, sets_from_zero
from controller.domain.rollout.moving.abandoned_pods import (
    clear_abandoned_pods,
    replace_abandoned_pods,
)
from controller.domain.rollout.moving.given_up import SetsWithLimits
from controller.domain.rollout.moving.nodes import abandoned_go_first, deleted_node_by_node
from controller.domain.rollout.moving.sets import (
    blocked_set,
    delete_pods,
    live_strategy,
    make_way,
    owners_limits,
    owners_strategy,
    set_strategy,
)
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.rollout.returning import mark_pods_that_stayed
from controller.domain.rollout.transition import Stop


class PartitionedSet(SetsWithLimits):
    """The partition follows the steps."""

    def preconditions(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """Its owner has not paused it, its controller has caught up, and no abandoned pod blocks it."""
        blocked = blocked_set(context, status) or mark_pods_that_stayed(context, status)
        if blocked is not None or context.returning:
            return blocked or _unstuck(context, status)
        return clear_abandoned_pods(context, status) if context.admission_paused else None

    def grow(
        self, context: ReleaseContext, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """The step's partition."""
        kind = context.workload.kind
        if kind is WorkloadKind.ADVANCED_DAEMON_SET and abandoned_go_first(context, index):
            return deleted_node_by_node(context, index)
        strategy = partitioned(kind, owners_strategy(context), _partition(context, index))
        return set_strategy(context, strategy, clones_from_zero.opened(context))

    def keep(self, context: ReleaseContext, index: int) -> tuple[Action, ...]:
        """Correct a manual edit of the partition; a set that was scaled gets the partition of its new size."""
        return (
            self.grow(context, index, Readiness(0, 0), give_back=True) if context.observed else ()
        )

    def clear_abandoned(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """Delete pods that block the new revision, and wait until they are gone."""
        return clear_abandoned_pods(context, status)

    def replace_abandoned(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """Delete abandoned pods as the owner allows; the set's controller creates stable ones."""
        return replace_abandoned_pods(context, status, enough=context.enough_for_all_traffic)

    def only_stable_returns(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """Done in the way that each kind of set allows."""
        if context.kind is WorkloadKind.CLONE_SET:
            return clones_from_zero.only_stable_returns(context, status)
        return sets_from_zero.only_stable_returns(context, status)

    def returned_as_new(self, context: ReleaseContext, status: RolloutStatus) -> bool:
        """Its controller has made the new revision its current one, or creates no other pods."""
        match context.workload.kind:
            case WorkloadKind.CLONE_SET:
                return clones_from_zero.returned_as_new(context, status)
            case WorkloadKind.STATEFUL_SET:
                return sets_from_zero.returned_as_new(context, status)
            case _:
                return nodes_from_zero.returned_as_new(context, status)

    def too_many_are_new(self, context: ReleaseContext, status: RolloutStatus) -> bool:
        """Nodes joined or returned; for the other kinds the partition keeps the stable pods' share."""
        return nodes_from_zero.too_many_are_new(context, status)

    def bring_stable_back(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """All pods are stable and ready."""
        match context.workload.kind:
            case WorkloadKind.CLONE_SET:
                return clones_from_zero.bring_stable_back(context, status)
            case WorkloadKind.STATEFUL_SET:
                return sets_from_zero.bring_stable_back(context, status)
            case _:
                return nodes_from_zero.bring_stable_back(context, status)

    def send_new_away(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """The last new pod of a StatefulSet; pods of the other kinds are replaced before."""
        return sets_from_zero.send_new_away(context, status)

    def owners_fields(self, context: ReleaseContext) -> tuple[FieldOfSpec, ...]:
        """A CloneSet without replicas may create pods again."""
        return clones_from_zero.opened(context)

    def promoted(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """As for all sets; a broken pod of a cancelled revision is deleted, because it would block a StatefulSet for
        ever.
        """
        waiting = super().promoted(context, status)
        if waiting is None or context.workload.kind is not WorkloadKind.STATEFUL_SET:
            return waiting
        keep = frozenset((moonshift_status(status).stable_revision, context.present_revision))
        return Stop(status, delete_pods(context, keep, unready_only=True), waiting.wake_at)


def _unstuck(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """In a rollback in batches, broken pods are deleted at once: they would block a StatefulSet for ever."""
    return make_way(context, status) if context.workload.kind is WorkloadKind.STATEFUL_SET else None


def _partition(context: ReleaseContext, index: int) -> int | str:
    """The partition of the step. Existing new pods stay, and no pod beyond the step becomes new."""
    kind, replicas, wanted = context.workload.kind, context.replicas, context.wanted(index)
    new = [pod for pod in context.new_pods if not pod.metadata.deleting]
    rolling = owners_limits(context).rolling_update
    unordered = rolling is not None and rolling.unordered_update is not None
    if kind is WorkloadKind.STATEFUL_SET and not unordered:
        first = context.pod_set.spec.ordinals
        there = ordinals(new, first.start if first is not None else 0)
        return ordered_partition(replicas, wanted, there)
    allowed = replicas - kept_old(partition_of(kind, live_strategy(context)), replicas)
    percent = kind is WorkloadKind.CLONE_SET
    return counted_partition(replicas, max(wanted, min(allowed, len(new))), percent=percent)
