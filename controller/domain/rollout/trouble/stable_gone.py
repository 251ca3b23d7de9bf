"""Reports a release that has no pod of the stable version any more, although its steps leave some.

Why: somebody deleted the stable ReplicaSet, or the workload's controller continued while it was not held, or the
workload had no pods for a while and its controller knows only the newest template (CloneSet, DaemonSets). Waiting
cannot help then. Invariant: reported, never corrected automatically: the new version serves all requests already, and
people decide which version they want; approvals and jumps still work. The message offers nothing that cannot be done.
"""

from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.rollout.moving.from_zero import (
    leaves_stable_pods,
    stable_replica_set,
    was_rebuilt,
)
from controller.domain.rollout.trouble.reverting import can_go_back
from controller.domain.rollout.words.naming import new_in_words, stable_in_words
from controller.domain.rollout.words.release_context import Style
from controller.domain.rollout.words.release_value import Release


def stable_is_gone(release: Release) -> Refusal | None:
    """The message when only the new version runs; None if other pods run, or if the step wants that."""
    known = release.ours.stable_revision
    if (
        release.ours.by_id
        or not known
        or release.style is Style.CANARY
        or not leaves_stable_pods(release)
    ):
        return None
    is_deployment = release.kind is WorkloadKind.DEPLOYMENT
    gone = _none_is_wanted(release) if is_deployment else _all_are_new(release, known)
    if not gone:
        return None
    name = release.seen.rollout.metadata.name
    return Refusal(
        reasons.STABLE_REVISION_GONE,
        f"{release.workload_name} has no pod of the stable version any more: {_cause(release)}; the running "
        f"version is {new_in_words(release)}. {_way_back(release)}, or end the release with the running "
        f"version: kubectl moonshift promote {name}",
        object=release.workload_name,
    )


def _none_is_wanted(release: Release) -> bool:
    stable = stable_replica_set(release)
    if stable is not None and release.style is Style.BLUE_GREEN and was_rebuilt(stable):
        return False
    return bool(release.running) and (stable is None or not stable.active)


def _all_are_new(release: Release, stable: str) -> bool:
    """A set has no room for a stable pod; other code checks this before the first move and on a rollback."""
    if (
        release.admission_paused
        or release.ours.returning
        or not release.observed
        or release.pods_of(stable)
    ):
        return False
    alive = [pod for pod in release.new_pods if not pod.metadata.deleting]
    return len(alive) >= release.replicas


def _cause(release: Release) -> str:
    known = release.ours.stable_revision
    if release.kind is not WorkloadKind.DEPLOYMENT:
        return "where a set had no pods for a while, its own controller makes all of them of the newest template"
    stable = stable_replica_set(release)
    if stable is None:
        return f"its ReplicaSet {release.workload_key.name}-{known} was deleted"
    return f"{stable_in_words(release, known)} wants none"


def _way_back(release: Release) -> str:
    """Undo only if the stable template is kept; otherwise only the owner's manifest contains it."""
    ours = release.ours
    if can_go_back(release):
        return f"Go back with kubectl moonshift undo {release.seen.rollout.metadata.name}"
    return (
        "Its template is kept nowhere in the cluster: to go back, apply the manifest of "
        f"{ours.stable_words or 'the stable version'}"
    )
