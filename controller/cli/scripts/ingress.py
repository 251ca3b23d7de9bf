"""Scripts of Ingress classes: what they are given, and what their answer means.

The contract is the original's and differs from that of other kinds: a script gets the annotations of the Ingress (nil
where there are none), the weight as a string, and its answer *is* the new set of annotations of the canary Ingress.
`stableService`, `patchPodMetadata`, `object` and `params` come on top, as for other kinds.
Invariant: a script starts from the annotations of the Ingress itself, at every step.
"""

from controller.domain.decision import Reference, RoutePlan
from controller.domain.traffic.answer import Flaw
from controller.domain.traffic.original import OURS, strings_of
from controller.domain.traffic.scripts import script_input
from controller.domain.traffic.tree import Tree, decode_tree, encode


def ingress_input(reference: Reference, plan: RoutePlan, original: Tree) -> bytes:
    """The global `obj` of one call, as JSON; `original` is the content of the Ingress."""
    obj = decode_tree(script_input(reference, plan, original))
    share = obj.pop("canaryWeight")
    for key in ("data", "stableWeight", "siblings"):
        obj.pop(key)
    obj["weight"] = f"{share:g}" if isinstance(share, (int, float)) else "-1"
    if annotations := strings_of(original.get("annotations")):
        obj["annotations"] = {**annotations}
    return encode(obj)


def judge_annotations(result: bytes) -> Tree | Flaw:
    """The annotations of the canary Ingress as content, or why there are none."""
    try:
        answer = decode_tree(result)
    except ValueError as problem:
        return Flaw(f"the script's answer cannot be read: {problem}")
    for name, value in answer.items():
        if not isinstance(value, str):
            return Flaw(f"the script's annotation {name} is no string; use tostring")
    kept = {name: value for name, value in strings_of(answer).items() if name not in OURS}
    return {"annotations": {**kept}} if kept else {}
