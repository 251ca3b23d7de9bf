"""The one object that a script of the installation sees: a Rollout of the namespace that it works for.

Why it exists: nobody has granted such a script a right, so it is the controller's own right with which it reads.
Invariant: fails closed. No other kind is read, and of a Rollout no label, annotation, owner or field manager is shown.
Must not talk to a cluster.
"""

from controller.domain.exchange.request import ObjectRequest
from controller.domain.traffic.tree import Json, Tree
from controller.kube.resources import ROLLOUTS

ONLY_ROLLOUTS = (
    f"a script of the installation may get {ROLLOUTS.api_version} {ROLLOUTS.kind}, and no other kind; "
    "a script of the namespace (scriptRef) sees objects with the rights of its ServiceAccount"
)
_NAMES = ("name", "namespace", "generation")


def may_be_shown(asked: ObjectRequest) -> bool:
    """It is a Rollout, in the version that the controller reads."""
    return (asked.api_version, asked.kind) == (ROLLOUTS.api_version, ROLLOUTS.kind)


def shown_of(rollout: Tree) -> Tree:
    """The part of a Rollout that is shown."""
    metadata = rollout.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    shown: Tree = {
        "apiVersion": ROLLOUTS.api_version,
        "kind": ROLLOUTS.kind,
        "metadata": _only(named, _NAMES),
    }
    return shown | _only(rollout, ("spec", "status"))


def _only(tree: Tree, fields: tuple[str, ...]) -> dict[str, Json]:
    return {field: tree[field] for field in fields if field in tree}
