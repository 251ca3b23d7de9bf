"""Who approved what, and who jumped where: written into the status by admission.

Why there: only admission knows the author of a request. Invariant: the list of a request is that of the object as it
was, whatever the request says, and one entry more for each intent in it: a state turned into StepReady, an exact
approval, another next or present step, `moonshift jump`. The name in an entry is the authenticated user's. Nothing is
ever refused here.
"""

from datetime import datetime

import msgspec

from controller.api.jsontree import JsonObject, changed, child, items, number, same, text
from controller.api.rollout import Approval, StepState
from controller.domain.admission.verdict import Amended, Unchanged, amended

KEPT = 50
"""Entries kept; the oldest go first."""

_PLACE = ("status", "moonshift", "approvals")


def note_approval(
    old: JsonObject, new: JsonObject, user: str, now: datetime
) -> Unchanged | Amended:
    """Judge an update of a Rollout's status (raw JSON of either version; the shape is the same)."""
    entries = [_entry(step, user, now, to) for step, to in _intents(old, new)]
    before = items(child(old, "status", "moonshift"), "approvals")
    kept = [*before, *entries][-KEPT:]
    result = new
    if kept or items(child(new, "status", "moonshift"), "approvals"):
        result = changed(result, _PLACE, kept)
    exact = _exact(old, new)
    if exact:
        signed = {**exact, **_entry(number(exact, "step") or 0, user, now)}
        result = changed(result, ("status", "moonshift", "approval"), signed)
    return amended(new, result)


def _intents(old: JsonObject, new: JsonObject) -> list[tuple[int, int]]:
    """What the request asks for: the step it is about, and the one it wants to go to (0: it approves)."""
    found: list[tuple[int, int]] = []
    for name in ("canaryStatus", "blueGreenStatus"):
        before, after = child(old, "status", name), child(new, "status", name)
        # A release that begins under another style has no index to move.
        found += _of_mailbox(before, after) if before else _of_approval(before, after)
    exact = _exact(old, new)
    if exact:
        found.append((number(exact, "step") or 0, 0))
    ours = child(new, "status", "moonshift")
    target = number(ours, "jump") or 0
    if target and target != number(child(old, "status", "moonshift"), "jump"):
        found.append((number(ours, "step") or 0, target))
    return found


def _of_mailbox(before: JsonObject, after: JsonObject) -> list[tuple[int, int]]:
    """An approval, or another step than the one that was next, or was present."""
    here = number(before, "currentStepIndex") or 0
    moved = [
        (here, target)
        for field in ("nextStepIndex", "currentStepIndex")
        if (target := number(after, field) or 0) >= 1 and target != number(before, field)
    ]
    return [*_of_approval(before, after), *moved]


def _of_approval(before: JsonObject, after: JsonObject) -> list[tuple[int, int]]:
    ready = text(after, "currentStepState") == StepState.STEP_READY
    if not ready or text(before, "currentStepState") == StepState.STEP_READY:
        return []
    return [(number(before or after, "currentStepIndex") or 0, 0)]


def _exact(old: JsonObject, new: JsonObject) -> JsonObject:
    """An approval that names its step and was not there before; empty where there is none."""
    exact = child(new, "status", "moonshift", "approval")
    return {} if same(exact, child(old, "status", "moonshift", "approval")) else exact


def _entry(step: int, user: str, now: datetime, to: int = 0) -> JsonObject:
    return child(msgspec.to_builtins(Approval(step=step, by=user, at=now, to=to)))
