"""Reports a release that has no pod of the stable version any more, although its steps leave some.

Why: somebody deleted the stable ReplicaSet, or the workload's controller continued while it was not held, or the
workload had no pods for a while and its controller knows only the newest template (CloneSet, DaemonSets). Waiting
cannot help then. Invariant: reported, never corrected automatically: the new version serves all requests already, and
people decide which version they want; approvals and jumps still work. The message offers nothing that cannot be done.
"""

from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.rollout.moving.from_zero import (
    leaves_stable_pods,
    stable_replica_set,
    was_rebuilt,
)
from controller.domain.rollout.naming import new_in_words, stable_in_words
from controller.domain.rollout.release_context import ReleaseContext, Style, moonshift_status
from controller.domain.rollout.reverting import can_go_back


def stable_is_gone(context: ReleaseContext, status: RolloutStatus) -> Refusal | None:
    """The message when only the new version runs; None if other pods run, or if the step wants that."""
    known = moonshift_status(status).stable_revision
    if (
        moonshift_status(status).by_id
        or not known
        or context.style is Style.CANARY
        or not leaves_stable_pods(context, status)
    ):
        return None
    is_deployment = context.kind is WorkloadKind.DEPLOYMENT
    gone = _none_is_wanted(context, status) if is_deployment else _all_are_new(context, known)
    if not gone:
        return None
    name = context.seen.rollout.metadata.name
    return Refusal(
        reasons.STABLE_REVISION_GONE,
        f"{context.workload_name} has no pod of the stable version any more: {_cause(context, status)}; the running "
        f"version is {new_in_words(context)}. {_way_back(context, status)}, or end the release with the running "
        f"version: kubectl moonshift promote {name}",
        object=context.workload_name,
    )


def _none_is_wanted(context: ReleaseContext, status: RolloutStatus) -> bool:
    stable = stable_replica_set(context, status)
    if stable is not None and context.style is Style.BLUE_GREEN and was_rebuilt(stable):
        return False
    return bool(context.running) and (stable is None or not stable.active)


def _all_are_new(context: ReleaseContext, stable: str) -> bool:
    """A set has no room for a stable pod; other code checks this before the first move and on a rollback."""
    if (
        context.admission_paused
        or context.returning
        or not context.observed
        or context.pods_of(stable)
    ):
        return False
    alive = [pod for pod in context.new_pods if not pod.metadata.deleting]
    return len(alive) >= context.replicas


def _cause(context: ReleaseContext, status: RolloutStatus) -> str:
    known = moonshift_status(status).stable_revision
    if context.kind is not WorkloadKind.DEPLOYMENT:
        return "where a set had no pods for a while, its own controller makes all of them of the newest template"
    stable = stable_replica_set(context, status)
    if stable is None:
        return f"its ReplicaSet {context.workload_key.name}-{known} was deleted"
    return f"{stable_in_words(context, known)} wants none"


def _way_back(context: ReleaseContext, status: RolloutStatus) -> str:
    """Undo only if the stable template is kept; otherwise only the owner's manifest contains it."""
    ours = moonshift_status(status)
    if can_go_back(context, status):
        return f"Go back with kubectl moonshift undo {context.seen.rollout.metadata.name}"
    return (
        "Its template is kept nowhere in the cluster: to go back, apply the manifest of "
        f"{ours.stable_words or 'the stable version'}"
    )
