"""The requests of a person in a write of a Rollout's status, as far as people may ask for something there.

Why it exists: the status is the controller's. Six places of it are letter boxes for people, and all other places are
none. Invariant: an intent is a difference between the stored object and the request, and it names a step that the
stored plan has; the plan in a request for a status counts for nothing. It must not decide whether the release follows.

The letter boxes: `currentStepState` (StepReady approves) and `nextStepIndex` of the style under way,
`moonshift.approval`, `moonshift.jump`, and for `moonshift retry` the removal of `moonshift.failedTemplate`, and of
gates and checks without success.
"""

import msgspec

from controller.api.analysis import Verdict
from controller.api.checks import CheckVerdict
from controller.api.conversion import converted
from controller.api.jsontree import JsonObject, child, items, number, same, text
from controller.api.names import V1BETA1
from controller.api.rollout import StepState

STYLES = ("canaryStatus", "blueGreenStatus")
MAX_CHARACTERS = 500
"""Characters of a message; of a longer one the beginning is kept."""


class Intents(msgspec.Struct, frozen=True):
    """The requests in one write."""

    approved: tuple[str, ...] = ()
    """The sub-statuses whose state becomes StepReady."""
    next_steps: tuple[tuple[str, int], ...] = ()
    """The sub-statuses with another next step, and that step."""
    jump: int = 0
    approval: int = 0
    """The step that an exact approval names; 0 if there is none."""
    message: str = ""
    """The reason that the author of an exact approval gives."""
    tries_template_again: bool = False
    runs: tuple[object, ...] | None = None
    """The gates that stay, if some are measured anew."""
    checks: tuple[object, ...] | None = None
    """The checks that stay, if some are asked anew."""


class Beyond(msgspec.Struct, frozen=True):
    """The request names a step that the plan does not have."""

    path: str
    step: int
    steps: int

    def __str__(self) -> str:
        plan = f"the plan has steps 1 to {self.steps}" if self.steps else "there is no plan"
        return f"{self.path}: there is no step {self.step}: {plan}"


def intents(old: JsonObject, new: JsonObject) -> Intents | Beyond:
    """The intents of the request; or the first step in it that the plan does not have."""
    moved = tuple(
        (style, to) for style in STYLES for to in _moved(_part(old, style), _part(new, style))
    )
    before, after = child(old, "status", "moonshift"), child(new, "status", "moonshift")
    led = "moonshift" in child(old, "status")
    jump = number(after, "jump") or 0
    asked = child(after, "approval")
    found = Intents(
        approved=tuple(
            style for style in STYLES if _approves(_part(old, style), _part(new, style))
        ),
        next_steps=moved,
        jump=jump if led and jump != number(before, "jump") else 0,
    )
    named = [(f"status.{style}.nextStepIndex", to) for style, to in moved]
    named += [("status.moonshift.jump", found.jump)] if found.jump else []
    if led and asked and not same(asked, child(before, "approval")):
        step = number(asked, "step") or 0
        message = text(asked, "message")[:MAX_CHARACTERS]
        found = msgspec.structs.replace(found, approval=step, message=message)
        named.append(("status.moonshift.approval.step", step))
    steps = _steps(old) if named else 0
    for path, step in named:
        if not 1 <= step <= steps:
            return Beyond(path, step, steps)
    return msgspec.structs.replace(
        found,
        tries_template_again=_tries_again(before, after),
        runs=_kept_runs(before, after),
        checks=_kept_checks(before, after),
    )


def _part(obj: JsonObject, style: str) -> JsonObject:
    return child(obj, "status", style)


def _approves(before: JsonObject, after: JsonObject) -> bool:
    """A release of this style is under way, and its state becomes StepReady."""
    ready = text(after, "currentStepState") == StepState.STEP_READY
    return bool(before) and ready and text(before, "currentStepState") != StepState.STEP_READY


def _moved(before: JsonObject, after: JsonObject) -> tuple[int, ...]:
    """The step that is asked for, if it is another one; -1 and 0 mean that no step follows, and ask for none."""
    to = number(after, "nextStepIndex") or 0
    return (to,) if before and to not in (0, -1, number(before, "nextStepIndex")) else ()


def _steps(rollout: JsonObject) -> int:
    """The number of steps of the plan. In v1alpha1 that of blue-green is in an annotation."""
    beta = converted(rollout, V1BETA1) if text(rollout, "apiVersion") else rollout
    strategy = child(beta if isinstance(beta, dict) else rollout, "spec", "strategy")
    return max(len(items(child(strategy, style), "steps")) for style in ("canary", "blueGreen"))


def _tries_again(before: JsonObject, after: JsonObject) -> bool:
    """`moonshift retry` removes the template that was given up. (A program that does not know our part removes all.)"""
    return (
        bool(after) and bool(text(before, "failedTemplate")) and not text(after, "failedTemplate")
    )


def _kept_runs(before: JsonObject, after: JsonObject) -> tuple[object, ...] | None:
    """The stored gates without those that were removed, if such a gate had ended without success."""
    runs = items(before, "analyses")
    if not isinstance(after.get("analyses"), list):
        return None
    present = [_identity(run) for run in items(after, "analyses")]
    kept = tuple(
        run
        for run in runs
        if _identity(run) in present
        or text(run, "verdict") not in (Verdict.FAILED, Verdict.INCONCLUSIVE)
    )
    return kept if len(kept) < len(runs) else None


def _kept_checks(before: JsonObject, after: JsonObject) -> tuple[object, ...] | None:
    """The stored checks without those that were removed, if such a check had failed."""
    runs = items(before, "checks")
    if not isinstance(after.get("checks"), list):
        return None
    present = [text(run, "id") for run in items(after, "checks")]
    kept = tuple(
        run
        for run in runs
        if text(run, "id") in present or text(run, "verdict") != CheckVerdict.FAILED
    )
    return kept if len(kept) < len(runs) else None


def _identity(run: object) -> tuple[int, str]:
    return number(run, "step") or 0, text(run, "startedAt")
