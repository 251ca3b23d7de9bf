"""A StatefulSet that is scaled to zero during a release, and up again: it returns as its stable revision.

Its own controller calls a rolling update of no pods complete, whatever the partition says, and makes the new revision
the current one; pods then return as that revision. So at zero the strategy is OnDelete, which completes nothing, and
`status.currentRevision` is written back if the controller was faster. After zero the partition holds again, and a pod
that was created as new meanwhile is replaced by a stable one. Invariant: the stable revision is not decided again.
"""

from controller.domain.decision import Action, SetCurrentRevision
from controller.domain.pods.partition import COMPLETES_NOTHING, moving_no_pod
from controller.domain.rollout.moving.from_zero import stable_pods_are_missing
from controller.domain.rollout.moving.given_up import SetsWithLimits
from controller.domain.rollout.moving.sets import (
    owners_strategy,
    set_strategy,
    unstable_pods_to_delete,
)
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


class StatefulSets(SetsWithLimits):
    """The order in which revisions return from zero replicas, for a StatefulSet."""

    def only_stable_returns(self, release: Release) -> Stop | None:
        """Keep the stable revision the set's current one: its controller must complete no update."""
        if not _can_return(release):
            return None
        closing = set_strategy(release, COMPLETES_NOTHING)
        if closing or not release.observed:
            return release.stop(*closing)
        remembered = _remembered(release)
        return release.stop(*remembered) if remembered else None

    def returned_as_new(self, release: Release) -> bool:
        """The new revision is current although no step was to take all pods: only scaling from zero does that."""
        if release.admission_paused or release.ours.returning or not _can_return(release):
            return False
        filled = bool(release.new_pods) and bool(_remembered(release))
        return filled and stable_pods_are_missing(release)

    def bring_stable_back(self, release: Release) -> Stop | None:
        """Hold the set by the partition again; wait until every pod has the stable revision and is ready.

        The last ready new pod stays until the routes have left it (`send_new_away`), unless it is the only pod.
        """
        if not _can_return(release):
            return None
        holding = set_strategy(
            release, moving_no_pod(release.workload.kind, owners_strategy(release))
        )
        if holding or not release.observed:
            return release.stop(*holding)
        stable = release.ours.stable_revision
        counted = release.ready(release.pods_of(stable))
        going = unstable_pods_to_delete(release, stable)
        one_is_left = counted.pods and counted.ready == release.replicas - 1 and len(going) == 1
        actions = (*(() if one_is_left else going), *_remembered(release))
        if actions or (not one_is_left and counted.ready < release.replicas):
            return release.stop(*actions, wake_at=counted.next_at)
        return None

    def send_new_away(self, release: Release) -> Stop | None:
        """Delete the last new pod; `bring_stable_back` waits for the stable pod in its place."""
        if not _can_return(release):
            return None
        going = unstable_pods_to_delete(release, release.ours.stable_revision)
        return release.stop(*going) if going else None


def _can_return(release: Release) -> bool:
    """The stable revision differs from the new one, and still exists."""
    ours = release.ours
    return not ours.by_id and any(
        known.name == ours.stable_revision for known in release.workload.revisions
    )


def _remembered(release: Release) -> tuple[Action, ...]:
    """Write the stable revision back as the set's current one."""
    stable = release.ours.stable_revision
    if release.pod_set.status.current_revision == stable:
        return ()
    return (SetCurrentRevision(release.kind_name, release.workload_key, release.meta.uid, stable),)
