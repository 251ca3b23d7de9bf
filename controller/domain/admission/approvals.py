"""Judges a write of a Rollout's status by somebody who is not the controller, and records who asked for what.

Why here: only admission knows the author of a request. Invariant: the stored status stays, but for the intents of the
request (`intents`); the record of approvals gets one entry for each approval and each jump, and the name in an entry is
the authenticated user's. A step that the plan does not have is refused. Nothing else is refused: a program that writes
back the whole status that it read, in types of its own (those of the original lack `moonshift`, those of v1alpha1 also
`blueGreenStatus` and `nextStepIndex`), must be able to approve, and changes nothing by it.
"""

from datetime import datetime

import msgspec

from controller.api.jsontree import JsonObject, changed, child, items, number, same
from controller.api.rollout import APPROVALS_KEPT, Approval, StepState
from controller.domain.admission.intents import Beyond, Intents, intents
from controller.domain.admission.verdict import Amended, Refused, Unchanged, amended, json_patch

MOST_NAMED = 4
"""Fields that a warning names."""

_LETTER_BOXES = (
    "people write currentStepState: StepReady (approve) and nextStepIndex (jump), or use kubectl moonshift approve, "
    "jump and retry"
)


class JudgedStatus(msgspec.Struct, frozen=True):
    """The verdict, and the warning for the author."""

    verdict: Unchanged | Amended | Refused
    warning: str = ""


def judge_status(old: JsonObject, new: JsonObject, user: str, now: datetime) -> JudgedStatus:
    """Judge an update of a Rollout's status (raw JSON of either version; the shape is the same)."""
    found = intents(old, new)
    if isinstance(found, Beyond):
        return JudgedStatus(Refused(str(found)))
    stored = child(old, "status")
    result = _with_intents(stored, found, user, now)
    warning = "" if not same(result, stored) else _of_no_effect(stored, child(new, "status"))
    kept = changed(new, ("status",), result if "status" in old or result else None)
    return JudgedStatus(amended(new, kept), warning)


def _with_intents(stored: JsonObject, found: Intents, user: str, now: datetime) -> JsonObject:
    """The stored status with what is asked for, and its entries in the record."""
    result = stored
    for style in found.approved:
        result = changed(result, (style, "currentStepState"), StepState.STEP_READY.value)
    for style, to in found.next_steps:
        result = changed(result, (style, "nextStepIndex"), to)
    if found.jump:
        result = changed(result, ("moonshift", "jump"), found.jump)
    if found.approval:
        signed = _entry(found.approval, user, now, message=found.message)
        result = changed(result, ("moonshift", "approval"), signed)
    if found.tries_template_again:
        result = changed(result, ("moonshift", "failedTemplate"), None)
    if found.runs is not None:
        result = changed(result, ("moonshift", "analyses"), list(found.runs))
    if found.checks is not None:
        result = changed(result, ("moonshift", "checks"), list(found.checks))
    entries = _entries(stored, found, user, now)
    if not entries:
        return result
    before = items(child(stored, "moonshift"), "approvals")
    return changed(result, ("moonshift", "approvals"), [*before, *entries][-APPROVALS_KEPT:])


def _entries(stored: JsonObject, found: Intents, user: str, now: datetime) -> list[JsonObject]:
    """An entry for each approval and each jump: the step that it is about, and the step that it goes to."""

    def present(style: str) -> int:
        return number(stored, style, "currentStepIndex") or 0

    entries = [_entry(present(style), user, now) for style in found.approved]
    entries += [_entry(present(style), user, now, to) for style, to in found.next_steps]
    if found.approval:
        entries.append(_entry(found.approval, user, now, message=found.message))
    if found.jump:
        entries.append(_entry(number(stored, "moonshift", "step") or 0, user, now, found.jump))
    return entries


def _of_no_effect(stored: JsonObject, written: JsonObject) -> str:
    """The warning for a request that changes nothing but fields of the controller; empty if it changes nothing."""
    paths = [operation.path for operation in json_patch(stored, written, "/status")]
    if not paths:
        return ""
    names = [path.removeprefix("/").replace("/", ".")[:100] for path in paths[:MOST_NAMED]]
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return f"{', '.join(names)}{more}: only the controller writes this; the status stays as it is: {_LETTER_BOXES}"


def _entry(step: int, user: str, now: datetime, to: int = 0, message: str = "") -> JsonObject:
    entry = Approval(step=step, by=user, at=now, to=to, message=message)
    return child(msgspec.to_builtins(entry))
