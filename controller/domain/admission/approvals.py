"""Who approved what, and who jumped where: written into the status by admission.

Why there: only admission knows the author of a request. Invariant: an entry is added exactly when a request turns a
state into StepReady, leaves an exact approval, or asks for a jump; the name in it is the authenticated user's, whatever
the request says. Nothing is ever refused here.
"""

from datetime import datetime

import msgspec

from controller.api.jsontree import JsonObject, changed, child, items, number, same, text
from controller.api.rollout import Approval, StepState
from controller.domain.admission.verdict import Amended, Unchanged, amended

KEPT = 50
"""Entries kept; the oldest go first."""


def note_approval(
    old: JsonObject, new: JsonObject, user: str, now: datetime
) -> Unchanged | Amended:
    """Judge an update of a Rollout's status (raw JSON of either version; the shape is the same)."""
    result = new
    for name in ("canaryStatus", "blueGreenStatus"):
        before, after = child(old, "status", name), child(new, "status", name)
        if text(after, "currentStepState") == StepState.STEP_READY and (
            text(before, "currentStepState") != StepState.STEP_READY
        ):
            result = _with_entry(result, number(after, "currentStepIndex") or 0, user, now)
        result = _with_jump(result, before, after, user, now)
    exact = child(new, "status", "moonshift", "approval")
    if exact and not same(exact, child(old, "status", "moonshift", "approval")):
        step = number(exact, "step") or 0
        signed = _entry(step, user, now)
        result = changed(result, ("status", "moonshift", "approval"), {**exact, **signed})
        result = _with_entry(result, step, user, now)
    target = number(child(new, "status", "moonshift"), "jump") or 0
    if target and target != number(child(old, "status", "moonshift"), "jump"):
        here = number(child(new, "status", "moonshift"), "step") or 0
        result = _with_entry(result, here, user, now, to=target)
    return amended(new, result)


def _with_jump(
    obj: JsonObject, before: JsonObject, after: JsonObject, user: str, now: datetime
) -> JsonObject:
    """The original's way to jump: another `nextStepIndex` in the same step."""
    here, target = number(after, "currentStepIndex"), number(after, "nextStepIndex")
    stays = here == number(before, "currentStepIndex")
    if not stays or not target or target < 1 or target == number(before, "nextStepIndex"):
        return obj
    return _with_entry(obj, here or 0, user, now, to=target)


def _entry(step: int, user: str, now: datetime, to: int = 0) -> JsonObject:
    entry = msgspec.to_builtins(Approval(step=step, by=user, at=now, to=to))
    return child(entry)


def _with_entry(obj: JsonObject, step: int, user: str, now: datetime, to: int = 0) -> JsonObject:
    present = items(child(obj, "status", "moonshift"), "approvals")
    entries = [*present, _entry(step, user, now, to)][-KEPT:]
    return changed(obj, ("status", "moonshift", "approvals"), entries)
