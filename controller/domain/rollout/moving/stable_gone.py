"""A release none of whose pods is of the stable version any more, although its steps leave some.

Why: somebody deleted the stable ReplicaSet, the workload went on by itself while it was not held, or its pods were all
away for a while and its own controller knows the newest template only (CloneSet, DaemonSets). Nothing can be waited for
then. Invariant: said, never put right by itself: the new version serves everybody already, and which of the two is
wanted is for people to say; approvals and jumps are heard meanwhile. Nothing is offered that cannot be done.
"""

from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.rollout.moving.from_zero import leaves_stable_pods, stable_replica_set
from controller.domain.rollout.naming import new_in_words, stable_in_words
from controller.domain.rollout.reverting import kept_template
from controller.domain.rollout.situation import Situation, Style, position


def stable_is_gone(sit: Situation, status: RolloutStatus) -> Refusal | None:
    """What to say where only the new version runs; None where it does not, or is meant to."""
    known = position(status).stable_revision
    if (
        position(status).by_id
        or not known
        or sit.style is Style.CANARY
        or not leaves_stable_pods(sit, status)
    ):
        return None
    is_deployment = sit.kind is WorkloadKind.DEPLOYMENT
    gone = _none_is_wanted(sit, status) if is_deployment else _all_are_new(sit, known)
    if not gone:
        return None
    name = sit.seen.rollout.metadata.name
    return Refusal(
        reasons.STABLE_REVISION_GONE,
        f"{sit.workload_name} has no pod of the stable version any more: {_what_became(sit, status)}; what runs is "
        f"{new_in_words(sit)}. {_way_back(sit, status)}, or end the release with what runs: "
        f"kubectl moonshift promote {name}",
        object=sit.workload_name,
    )


def _none_is_wanted(sit: Situation, status: RolloutStatus) -> bool:
    stable = stable_replica_set(sit, status)
    return bool(sit.running) and (stable is None or not stable.active)


def _all_are_new(sit: Situation, stable: str) -> bool:
    """No place is left for a stable pod of a set; before the first move, and on a way back, others look at it."""
    if sit.latched or sit.returning or not sit.observed or sit.pods_of(stable):
        return False
    alive = [pod for pod in sit.new_pods if not pod.metadata.deleting]
    return len(alive) >= sit.replicas


def _what_became(sit: Situation, status: RolloutStatus) -> str:
    known = position(status).stable_revision
    if sit.kind is not WorkloadKind.DEPLOYMENT:
        return "where a set had no pods for a while, its own controller makes all of them of the newest template"
    stable = stable_replica_set(sit, status)
    if stable is None:
        return f"its ReplicaSet {sit.workload_key.name}-{known} was deleted"
    return f"{stable_in_words(sit, known)} wants none"


def _way_back(sit: Situation, status: RolloutStatus) -> str:
    """Undo only where the stable template is kept; else its owner has it, in a manifest."""
    ours = position(status)
    if kept_template(sit, ours.stable_revision):
        return f"Go back with kubectl moonshift undo {sit.seen.rollout.metadata.name}"
    return (
        "Its template is kept nowhere in the cluster: to go back, apply the manifest of "
        f"{ours.stable_words or 'the stable version'}"
    )
