"""A Deployment under release none of whose pods is of the stable version any more, although its steps leave some.

Why: somebody deleted the stable ReplicaSet, or the Deployment went on by itself while it was not held. Nothing can be
waited for then. Invariant: said, never put right by itself: the new version serves everybody already, and which of the
two is wanted is for people to say; approvals and jumps are heard meanwhile.
"""

from msgspec import json

from controller.api.jsontree import JsonObject, child
from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import ReplicaSet
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.rollout.moving.from_zero import leaves_stable_pods, stable_replica_set
from controller.domain.rollout.situation import Situation, Style, position


def stable_is_gone(sit: Situation, status: RolloutStatus) -> Refusal | None:
    """What to say where only the new version runs; None where it does not, or is meant to."""
    if sit.kind is not WorkloadKind.DEPLOYMENT or sit.style is Style.CANARY or not sit.running:
        return None
    stable = stable_replica_set(sit, status)
    known = position(status).stable_revision
    if not known or not leaves_stable_pods(sit, status) or (stable is not None and stable.active):
        return None
    name = sit.seen.rollout.metadata.name
    return Refusal(
        reasons.STABLE_REVISION_GONE,
        f"{sit.workload_name} has no pod of the stable version any more: {_what_became(sit, known, stable)}; what runs "
        f"is {_images(bytes(sit.deployment.spec.template))}. Go back with kubectl moonshift undo {name}, or end the "
        f"release with what runs: kubectl moonshift promote {name}",
        object=sit.workload_name,
    )


def _what_became(sit: Situation, revision: str, stable: ReplicaSet | None) -> str:
    if stable is None:
        return f"its ReplicaSet {sit.workload_key.name}-{revision} was deleted"
    images = _images(bytes(stable.spec.template))
    return f"its ReplicaSet {stable.metadata.name} ({images}) wants none"


def _images(template: bytes) -> str:
    containers = child(json.decode(template, type=JsonObject), "spec").get("containers")
    found = containers if isinstance(containers, list) else []
    return ", ".join(str(one.get("image")) for one in found if isinstance(one, dict))
