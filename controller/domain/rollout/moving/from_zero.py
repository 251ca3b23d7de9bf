"""A Deployment that is scaled to zero during a release, and up again: only its stable revision returns.

From zero the Deployment's controller fills the newest ReplicaSet, frozen and paused or not: that of the present
template where it exists, else the last one created. So while there are no replicas the Deployment is paused, and empty
ReplicaSets that would be filled first are deleted. If it was scaled up before we saw it, the stable ReplicaSet is
filled again, and the other one is emptied afterwards: never before, or its controller would fill it again for ever.
Invariant: the stable revision is not decided again.
"""

from controller.api import names
from controller.api.quantity import scaled_down
from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import ReplicaSet
from controller.domain.decision import REPLICA_SET, DeleteObject, SetSize, deletion, size
from controller.domain.pods.deployment import admission_paused, read_rolling_limits
from controller.domain.rollout.moving.freezing import freeze_again
from controller.domain.rollout.moving.mechanism import Mechanism
from controller.domain.rollout.words.release_context import Style, known_template, moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


def stable_replica_set(release: Release) -> ReplicaSet | None:
    """The ReplicaSet of the stable revision, if it still exists."""
    stable = release.ours.stable_revision
    found = [rs for rs, _ in release.workload.replica_sets if stable and rs.revision == stable]
    return found[-1] if found else None


def was_rebuilt(stable: ReplicaSet) -> bool:
    """Somebody deleted this stable ReplicaSet during a release, and it was made again without pods."""
    return names.REBUILT in stable.metadata.annotations


def leaves_stable_pods(release: Release) -> bool:
    """No visited step replaces all pods, so a step back removes no new pod; beside an extra workload, and under
    blue-green, no step does.
    """
    if release.kind is WorkloadKind.DEPLOYMENT and release.style is not Style.PARTITION:
        return True
    return largest_visited_batch(release) < release.replicas


def stable_pods_are_missing(release: Release) -> bool:
    """No stable pod is left, although no visited step replaces all pods."""
    return not release.pods_of(release.ours.stable_revision) and leaves_stable_pods(release)


def largest_visited_batch(release: Release) -> int:
    """New pods that the visited step with the largest batch asks for."""
    return max(release.batch(step) for step in _visited_steps(release.status))


def undo_leads_to_stable(release: Release) -> bool:
    """Whether an undo still leads to the stable revision, even if none of its pods runs at present: its ReplicaSet
    exists, the release did not go on by itself, and no step gave every pod to the release's own revision.
    """
    gone = stable_replica_set(release) is None
    return not gone and not release.ours.went_on and not _took_all(release)


def _took_all(release: Release) -> bool:
    """The release's own revision runs, and a visited step asked for every pod.

    A share that is every pod only by rounding does not count: 20 % of one pod is one pod.
    """
    if release.style is not Style.PARTITION or release.replicas < 2:
        return False
    runs = any(run.template_hash == known_template(release.status) for run in release.running)
    asked = (release.step(step).replicas for step in _visited_steps(release.status))
    return runs and any(scaled_down(share, release.replicas) >= release.replicas for share in asked)


def _visited_steps(status: RolloutStatus) -> set[int]:
    ours = moonshift_status(status)
    return {ours.step, *(visit.step for visit in ours.visits)}


class FromZero(Mechanism):
    """The order in which revisions return from zero replicas, for a Deployment."""

    def only_stable_returns(self, release: Release) -> Stop | None:
        """The Deployment is paused, and no ReplicaSet is newer than the stable one."""
        stable = stable_replica_set(release)
        if stable is None:
            return None
        if not admission_paused(release.deployment):
            return release.stop(freeze_again(release))
        if not release.observed:
            return release.stop()
        first = _deletions(release, stable)
        return release.stop(*first) if first else None

    def returned_as_new(self, release: Release) -> bool:
        """No stable pod is wanted, but pods of another revision are: of an abandoned one, or of the new one at a step
        that leaves stable pods. In a frozen Deployment only scaling from zero causes that; a lost freeze is restored
        first.

        Not if the Deployment's controller continued while it was not frozen: then people decide (`stable_gone`).
        """
        stable = stable_replica_set(release)
        if stable is None or stable.active or release.ours.went_on:
            return False
        abandoned = any(run.template_hash != release.template_hash for run in release.running)
        return abandoned or (bool(release.running) and leaves_stable_pods(release))

    def stable_returns_first(self, release: Release, *, returning: bool) -> bool:
        """Pods of another revision run in place of stable ones, although no step gave them that place."""
        stable = stable_replica_set(release)
        if stable is None or not release.replicas or not undo_leads_to_stable(release):
            return False
        others_run = any(rs.active for rs in _others(release, stable))
        return others_run and (returning or not stable.active)

    def bring_stable_back(self, release: Release) -> Stop | None:
        """Pause the Deployment and scale the stable ReplicaSet up; wait until its pods are ready."""
        stable = stable_replica_set(release)
        if stable is None:
            return None
        if not admission_paused(release.deployment):
            return release.stop(freeze_again(release))
        if not stable.active:
            return release.stop(*_stable_in_addition(release, stable))
        counted = release.ready(release.pods_of(stable.revision))
        if counted.ready < counted.pods or not counted.pods:
            return release.stop(wake_at=counted.next_at)
        return None if _is_marked(release, stable) else release.stop()

    def send_new_away(self, release: Release) -> Stop | None:
        """Scale every other ReplicaSet to zero, once the stable one can be filled; wait until their pods are gone."""
        stable = stable_replica_set(release)
        if stable is None or not stable.active:
            return None
        gone = _emptied(release, stable)
        alive = any(
            pod.revision != stable.revision and not pod.metadata.deleting
            for pod in release.workload.pods
        )
        return release.stop(*gone) if gone or alive else None


def _deletions(release: Release, stable: ReplicaSet) -> tuple[DeleteObject, ...]:
    """The ReplicaSets that the Deployment's controller would fill before the stable one."""
    return tuple(
        deletion(REPLICA_SET, rs.metadata)
        for rs in _others(release, stable)
        if _is_of_template(release, rs) or _made_after(rs, stable)
    )


def _stable_in_addition(release: Release, stable: ReplicaSet) -> tuple[SetSize | DeleteObject, ...]:
    """Half of the pods, in addition to the new ones: the Deployment's controller removes the surplus pods from the
    larger ReplicaSet.

    One pod has no half: if the limits leave no room for a second pod, the new pod is removed at once. If no other pod
    runs, the controller fills the stable ReplicaSet by itself, and nothing is written. If we wrote exactly the wanted
    size, the ReplicaSet would keep the marks of its former size. The controller would take them for a scale event in
    every pass, and would never roll.
    """
    others = [rs for rs in _others(release, stable) if rs.active]
    if not others:
        return ()
    surge = read_rolling_limits(release.deployment).surge
    if release.replicas == 1 and not surge:
        return (*_emptied(release, stable), *_deletions(release, stable))
    half = max(1, release.replicas // 2)
    # One pod cannot be divided, and `_is_marked` waits for the Deployment's controller to mark it.
    marked = (
        release.replicas > 1
        and {names.DESIRED_REPLICAS, names.MAX_REPLICAS} <= stable.metadata.annotations.keys()
    )
    added = SetSize(
        REPLICA_SET,
        stable.metadata.key,
        stable.metadata.uid,
        half,
        # With the marks of the size at which it was emptied, it would be scaled in proportion to that size.
        sized_for=(release.replicas, release.replicas + surge) if marked else None,
    )
    room = release.replicas + surge - sum(rs.spec.replicas for rs in others)
    if room >= half or max(rs.spec.replicas for rs in others) > half:
        return (added,)
    return (_least_ready_shrunk(release, others, half - room), added)


def _least_ready_shrunk(release: Release, others: list[ReplicaSet], pods: int) -> SetSize:
    """Take so many pods from the ReplicaSet with the fewest ready ones.

    Of ReplicaSets of the same size, the Deployment's controller takes surplus pods from the oldest one: it would
    remove the stable pods that we add, and both would write for ever.
    """
    least = min(others, key=lambda rs: release.ready(release.pods_of(rs.revision)).ready)
    left = max(0, least.spec.replicas - pods)
    return size(REPLICA_SET, least.metadata, left)


def _emptied(release: Release, stable: ReplicaSet) -> tuple[SetSize, ...]:
    """Scale every other ReplicaSet to zero; empty if no other one wants a pod."""
    return tuple(size(REPLICA_SET, rs.metadata, 0) for rs in _others(release, stable) if rs.active)


def _is_marked(release: Release, stable: ReplicaSet) -> bool:
    """The Deployment's controller has seen the size that we gave to the single stable pod's ReplicaSet, and marked
    it."""
    alone = not any(rs.active for rs in _others(release, stable))
    marks = stable.metadata.annotations
    return alone or release.replicas > 1 or marks.get(names.DESIRED_REPLICAS) in ("1", None)


def _others(release: Release, stable: ReplicaSet) -> list[ReplicaSet]:
    return [rs for rs, _ in release.workload.replica_sets if rs.metadata.uid != stable.metadata.uid]


def _is_of_template(release: Release, replica_set: ReplicaSet) -> bool:
    return any(
        rs.metadata.uid == replica_set.metadata.uid and hashed == release.template_hash
        for rs, hashed in release.workload.replica_sets
    )


def _made_after(one: ReplicaSet, other: ReplicaSet) -> bool:
    left, right = one.metadata.creation_timestamp, other.metadata.creation_timestamp
    return left is not None and right is not None and left >= right
