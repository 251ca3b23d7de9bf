"""Partition style of a StatefulSet, CloneSet or Advanced DaemonSet: its own controller updates pods up to a partition.

Invariant: pods of an abandoned revision never block another one.
"""

from controller.api.workloads import Pod
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
from controller.domain.rollout.moving.abandoned_pods import (
    clear_abandoned_pods,
    replace_abandoned_pods,
)
from controller.domain.rollout.moving.given_up import SetsWithLimits, stable_takes_places
from controller.domain.rollout.moving.nodes import abandoned_go_first, deleted_node_by_node
from controller.domain.rollout.moving.returning import mark_pods_that_stayed
from controller.domain.rollout.moving.sets import (
    blocked_set,
    delete_pods,
    live_strategy,
    make_way,
    owners_limits,
    owners_strategy,
    set_strategy,
)
from controller.domain.rollout.styles.clones_from_zero import CloneSets
from controller.domain.rollout.styles.nodes_from_zero import DaemonSets
from controller.domain.rollout.styles.sets_from_zero import StatefulSets
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


class PartitionedSet(SetsWithLimits):
    """The partition follows the steps."""

    def preconditions(self, release: Release) -> Stop | None:
        """Its owner has not paused it, its controller has caught up, and no abandoned pod blocks it."""
        blocked = blocked_set(release) or mark_pods_that_stayed(release)
        if blocked is not None or release.ours.returning:
            return blocked
        return clear_abandoned_pods(release) if release.admission_paused else None

    def grow(
        self, release: Release, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """The step's partition."""
        kind, partition = release.workload.kind, self.partition(release, index)
        strategy = partitioned(kind, owners_strategy(release), partition)
        return set_strategy(release, strategy, self.owners_fields(release))

    def partition(self, release: Release, index: int) -> int | str:
        """The partition of the step. Existing new pods stay, and no pod beyond the step becomes new."""
        return _counted(release, index, percent=False)

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

    def scale_up_stable(self, release: Release, stable: Readiness) -> tuple[Action, ...] | None:
        """Stable pods take the places of new ones."""
        return stable_takes_places(release, self.owners_fields(release))


class PartitionedCloneSet(CloneSets, PartitionedSet):
    """A CloneSet chooses the pods of a step freely; its partition is a percentage."""

    def partition(self, release: Release, index: int) -> int | str:
        """As for other sets, so written that it fits every size."""
        return _counted(release, index, percent=True)


class PartitionedStatefulSet(StatefulSets, PartitionedSet):
    """A StatefulSet updates its pods in order; a broken one blocks it for ever, so it is deleted."""

    def preconditions(self, release: Release) -> Stop | None:
        """As for other sets; in a rollback in batches, broken pods are deleted at once."""
        blocked = super().preconditions(release)
        return make_way(release) if blocked is None and release.ours.returning else blocked

    def partition(self, release: Release, index: int) -> int | str:
        """The ordinal from which on pods are new, unless the owner lets the set update them in any order."""
        rolling = owners_limits(release).rolling_update
        if rolling is not None and rolling.unordered_update is not None:
            return super().partition(release, index)
        first = release.pod_set.spec.ordinals
        there = ordinals(_alive_new_pods(release), first.start if first is not None else 0)
        return ordered_partition(release.replicas, release.wanted(index), there)

    def promoted(self, release: Release) -> Stop | None:
        """As for all sets; a broken pod of a cancelled revision is deleted."""
        waiting = super().promoted(release)
        if waiting is None:
            return None
        keep = frozenset((release.ours.stable_revision, release.present_revision))
        return release.stop(*delete_pods(release, keep, unready_only=True), wake_at=waiting.wake_at)


class PartitionedDaemonSet(DaemonSets, PartitionedSet):
    """An Advanced DaemonSet; its abandoned pods are deleted node by node before stable ones."""

    def grow(
        self, release: Release, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """The next deletions of abandoned pods, or the step's partition."""
        if abandoned_go_first(release, index):
            return deleted_node_by_node(release, index)
        return super().grow(release, index, counted, give_back=give_back)


def _alive_new_pods(release: Release) -> list[Pod]:
    return [pod for pod in release.new_pods if not pod.metadata.deleting]


def _counted(release: Release, index: int, *, percent: bool) -> int | str:
    kind, replicas = release.workload.kind, release.replicas
    allowed = replicas - kept_old(partition_of(kind, live_strategy(release)), replicas)
    wanted = max(release.wanted(index), min(allowed, len(_alive_new_pods(release))))
    return counted_partition(replicas, wanted, percent=percent)
