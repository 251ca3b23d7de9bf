"""Records the user who approved a step or jumped to another one, and keeps our part of a status that others write.

Why here: only admission knows the author of a request. Invariant: the list is taken from the stored object, whatever
the request contains, and gets one entry for each intent in the request: a state changed to StepReady, an approval that
names its step, another next or present step, `moonshift jump`. The name in an entry is the authenticated user's. No
request is refused here.

A program that was compiled with the types of the original reads a status, changes it and writes it back without
`status.moonshift`, which it does not know; with those of v1alpha1 also without `blueGreenStatus` and `nextStepIndex`.
Stored like this, the release would be continued like one that the original began, and its approvals, its visits and
the kept template would be lost.
"""

from datetime import datetime

import msgspec

from controller.api.jsontree import JsonObject, changed, child, items, number, same, text
from controller.api.rollout import Approval, StepState
from controller.domain.admission.verdict import Amended, Unchanged, amended

KEPT = 50
"""Entries kept; the oldest go first."""

MAX_CHARACTERS = 500
"""Characters of a message; of a longer one the beginning is kept."""

_UNKNOWN_TO_OLDER_TYPES = (
    ("status", "moonshift"),
    ("status", "blueGreenStatus"),
    ("status", "canaryStatus", "nextStepIndex"),
)
_PLACE = ("status", "moonshift", "approvals")


def note_approval(
    old: JsonObject, new: JsonObject, user: str, now: datetime
) -> Unchanged | Amended:
    """Judge an update of a Rollout's status (raw JSON of either version; the shape is the same)."""
    written, new = new, _with_our_part(old, new)
    exact = _exact(old, new)
    reason = _message(exact)
    entries = [
        _entry(step, user, now, to, reason if named else "")
        for step, to, named in _intents(old, new)
    ]
    before = items(child(old, "status", "moonshift"), "approvals")
    kept = [*before, *entries][-KEPT:]
    result = new
    if kept or items(child(new, "status", "moonshift"), "approvals"):
        result = changed(result, _PLACE, kept)
    if exact:
        signed = {**exact, **_entry(number(exact, "step") or 0, user, now, message=reason)}
        result = changed(result, ("status", "moonshift", "approval"), signed)
    return amended(written, result)


def _with_our_part(old: JsonObject, new: JsonObject) -> JsonObject:
    """The update with the stored values of fields that older types lack, if it leaves them out.

    An update that empties the status stays as it is.
    """
    if not child(new, "status"):
        return new
    result = new
    for *path, name in _UNKNOWN_TO_OLDER_TYPES:
        stored, written = child(old, *path), child(result, *path)
        if name in stored and name not in written and (written or path == ["status"]):
            result = changed(result, (*path, name), stored[name])
    return result


def _intents(old: JsonObject, new: JsonObject) -> list[tuple[int, int, bool]]:
    """The intents of the request: the step it is about, and the step it wants to go to (0: it approves).

    The last value is true for an approval that names its step; only such an approval can give a reason.
    """
    moved: list[tuple[int, int]] = []
    for name in ("canaryStatus", "blueGreenStatus"):
        before, after = child(old, "status", name), child(new, "status", name)
        # A release that begins under another style has no index to move.
        moved += _of_mailbox(before, after) if before else _of_approval(before, after)
    found = [(step, to, False) for step, to in moved]
    exact = _exact(old, new)
    if exact:
        found.append((number(exact, "step") or 0, 0, True))
    ours = child(new, "status", "moonshift")
    target = number(ours, "jump") or 0
    if target and target != number(child(old, "status", "moonshift"), "jump"):
        found.append((number(ours, "step") or 0, target, False))
    return found


def _of_mailbox(before: JsonObject, after: JsonObject) -> list[tuple[int, int]]:
    """An approval, or a step other than the recorded next or present one."""
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
    """An approval that names its step and is new in this request; empty if there is none."""
    exact = child(new, "status", "moonshift", "approval")
    return {} if same(exact, child(old, "status", "moonshift", "approval")) else exact


def _message(exact: JsonObject) -> str:
    """The reason that the author of an exact approval gives."""
    return text(exact, "message")[:MAX_CHARACTERS]


def _entry(step: int, user: str, now: datetime, to: int = 0, message: str = "") -> JsonObject:
    entry = Approval(step=step, by=user, at=now, to=to, message=message)
    return child(msgspec.to_builtins(entry))
