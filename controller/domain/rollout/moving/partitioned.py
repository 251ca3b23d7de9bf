"""Partition style of a StatefulSet, CloneSet or Advanced DaemonSet: its own controller updates pods up to a partition.

Invariant: pods of an abandoned revision never block another one.
"""

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
from controller.domain.rollout.release_value import Release
from controller.domain.rollout.returning import mark_pods_that_stayed
from controller.domain.rollout.transition import Stop


class PartitionedSet(SetsWithLimits):
    """The partition follows the steps."""

    def preconditions(self, release: Release) -> Stop | None:
        """Its owner has not paused it, its controller has caught up, and no abandoned pod blocks it."""
        blocked = blocked_set(release) or mark_pods_that_stayed(release)
        if blocked is not None or release.returning:
            return blocked or _unstuck(release)
        return clear_abandoned_pods(release) if release.admission_paused else None

    def grow(
        self, release: Release, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """The step's partition."""
        kind = release.workload.kind
        if kind is WorkloadKind.ADVANCED_DAEMON_SET and abandoned_go_first(release, index):
            return deleted_node_by_node(release, index)
        strategy = partitioned(kind, owners_strategy(release), _partition(release, index))
        return set_strategy(release, strategy, clones_from_zero.opened(release))

    def keep(self, release: Release, index: int) -> tuple[Action, ...]:
        """Correct a manual edit of the partition; a set that was scaled gets the partition of its new size."""
        return (
            self.grow(release, index, Readiness(0, 0), give_back=True) if release.observed else ()
        )

    def clear_abandoned(self, release: Release) -> Stop | None:
        """Delete pods that block the new revision, and wait until they are gone."""
        return clear_abandoned_pods(release)

    def replace_abandoned(self, release: Release) -> Stop | None:
        """Delete abandoned pods as the owner allows; the set's controller creates stable ones."""
        return replace_abandoned_pods(release, enough=release.enough_for_all_traffic)

    def only_stable_returns(self, release: Release) -> Stop | None:
        """Done in the way that each kind of set allows."""
        if release.kind is WorkloadKind.CLONE_SET:
            return clones_from_zero.only_stable_returns(release)
        return sets_from_zero.only_stable_returns(release)

    def returned_as_new(self, release: Release) -> bool:
        """Its controller has made the new revision its current one, or creates no other pods."""
        match release.workload.kind:
            case WorkloadKind.CLONE_SET:
                return clones_from_zero.returned_as_new(release)
            case WorkloadKind.STATEFUL_SET:
                return sets_from_zero.returned_as_new(release)
            case _:
                return nodes_from_zero.returned_as_new(release)

    def too_many_are_new(self, release: Release) -> bool:
        """Nodes joined or returned; for the other kinds the partition keeps the stable pods' share."""
        return nodes_from_zero.too_many_are_new(release)

    def bring_stable_back(self, release: Release) -> Stop | None:
        """All pods are stable and ready."""
        match release.workload.kind:
            case WorkloadKind.CLONE_SET:
                return clones_from_zero.bring_stable_back(release)
            case WorkloadKind.STATEFUL_SET:
                return sets_from_zero.bring_stable_back(release)
            case _:
                return nodes_from_zero.bring_stable_back(release)

    def send_new_away(self, release: Release) -> Stop | None:
        """The last new pod of a StatefulSet; pods of the other kinds are replaced before."""
        return sets_from_zero.send_new_away(release)

    def owners_fields(self, release: Release) -> tuple[FieldOfSpec, ...]:
        """A CloneSet without replicas may create pods again."""
        return clones_from_zero.opened(release)

    def promoted(self, release: Release) -> Stop | None:
        """As for all sets; a broken pod of a cancelled revision is deleted, because it would block a StatefulSet for
        ever.
        """
        waiting = super().promoted(release)
        if waiting is None or release.workload.kind is not WorkloadKind.STATEFUL_SET:
            return waiting
        keep = frozenset((release.ours.stable_revision, release.present_revision))
        return release.stop(*delete_pods(release, keep, unready_only=True), wake_at=waiting.wake_at)


def _unstuck(release: Release) -> Stop | None:
    """In a rollback in batches, broken pods are deleted at once: they would block a StatefulSet for ever."""
    return make_way(release) if release.workload.kind is WorkloadKind.STATEFUL_SET else None


def _partition(release: Release, index: int) -> int | str:
    """The partition of the step. Existing new pods stay, and no pod beyond the step becomes new."""
    kind, replicas, wanted = release.workload.kind, release.replicas, release.wanted(index)
    new = [pod for pod in release.new_pods if not pod.metadata.deleting]
    rolling = owners_limits(release).rolling_update
    unordered = rolling is not None and rolling.unordered_update is not None
    if kind is WorkloadKind.STATEFUL_SET and not unordered:
        first = release.pod_set.spec.ordinals
        there = ordinals(new, first.start if first is not None else 0)
        return ordered_partition(replicas, wanted, there)
    allowed = replicas - kept_old(partition_of(kind, live_strategy(release)), replicas)
    percent = kind is WorkloadKind.CLONE_SET
    return counted_partition(replicas, max(wanted, min(allowed, len(new))), percent=percent)
