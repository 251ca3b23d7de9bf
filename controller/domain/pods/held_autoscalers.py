"""Autoscalers under blue-green: paused while there are twice the pods, and restored exactly.

Why `selectPolicy: Disabled`: it is the API's own way to pause one, and works for every autoscaler of the workload (the
original renames the target of one of them, which GitOps tools revert and a crash leaves behind, D35). Invariants: the
owner's `behavior` is saved in the same write that pauses; a `behavior` that was absent is absent again; a paused
autoscaler is known by its annotation alone, so any process can restore it.
"""

import msgspec

from controller.api.autoscaling import Autoscaler
from controller.api.decoding import decoded
from controller.api.jsontree import JsonObject, text
from controller.api.names import ORIGINAL_BEHAVIOR

PAUSED_BEHAVIOR: JsonObject = {
    "scaleUp": {"selectPolicy": "Disabled"},
    "scaleDown": {"selectPolicy": "Disabled"},
}
"""Merged into `spec.behavior` of a paused autoscaler."""


def has_saved_behavior(autoscaler: Autoscaler) -> bool:
    """The autoscaler has the annotation with its owner's behavior: we paused it, now or earlier."""
    return ORIGINAL_BEHAVIOR in autoscaler.metadata.annotations


def is_paused(autoscaler: Autoscaler) -> bool:
    """The autoscaler is paused in both directions."""
    behavior = _behavior(autoscaler)
    return all(text(behavior, way, "selectPolicy") == "Disabled" for way in PAUSED_BEHAVIOR)


def original(autoscaler: Autoscaler) -> str:
    """JSON of the owner's behavior, `null` where there was none; a value saved before has priority."""
    kept = autoscaler.metadata.annotations.get(ORIGINAL_BEHAVIOR)
    if kept is not None:
        return kept
    found = autoscaler.spec.behavior
    return "null" if found is msgspec.UNSET else bytes(found).decode()


def owners_behavior(autoscaler: Autoscaler) -> msgspec.Raw | None:
    """The owner's behavior to restore; None when there was none, or when the saved value is not readable."""
    kept = autoscaler.metadata.annotations[ORIGINAL_BEHAVIOR]
    try:
        found = decoded(kept, object)
    except msgspec.DecodeError:
        return None
    return msgspec.Raw(kept.encode()) if isinstance(found, dict) else None


def _behavior(autoscaler: Autoscaler) -> JsonObject:
    found = autoscaler.spec.behavior
    if found is msgspec.UNSET:
        return {}
    return msgspec.json.decode(found, type=JsonObject | None) or {}
