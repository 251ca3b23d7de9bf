"""When a step may end: a person's approval, a timer, or nothing to wait for.

`currentStepState` is a mailbox: a client writes `StepReady` into it. It is honoured only while our own position is
StepPaused (earlier it would skip readiness, as it did in the original), and once: clients re-send until they see the
state change, so one that comes right after an approval was honoured is a repeat and is put back.
"""

from datetime import timedelta

from controller.api.rollout import RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.rollout import messages
from controller.domain.rollout.situation import Situation, Style, canary_status, position
from controller.domain.rollout.status import enter, progressing, with_canary, with_position
from controller.domain.rollout.turn import Advance, Stop, Turn

REPEAT_WINDOW = timedelta(seconds=2)
"""How long after an honoured approval another StepReady counts as the same one sent again."""


def approval_arrived(sit: Situation, status: RolloutStatus) -> bool:
    """Somebody wrote StepReady, by status patch."""
    return (
        canary_status(status).current_step_state == StepState.STEP_READY
        and position(status).state != StepState.STEP_READY
    )


def approval_is_a_repeat(sit: Situation, status: RolloutStatus) -> bool:
    """It came right after another was honoured."""
    honoured = position(status).approved_at
    return honoured is not None and sit.now < honoured + REPEAT_WINDOW


def exact_approval(status: RolloutStatus) -> bool:
    """`moonshift approve --step N` named the step we are at."""
    ours = position(status)
    return ours.approval is not None and ours.approval.step == ours.step


def read_mailbox(sit: Situation, status: RolloutStatus) -> Advance | None:
    """Honour an approval, or put it back with a word; None when there is none."""
    ours = position(status)
    paused = ours.state == StepState.STEP_PAUSED
    exact = exact_approval(status)
    arrived = approval_arrived(sit, status)
    if not arrived and ours.approval is None:
        return None
    emptied = with_position(status, approval=None)
    if paused and (exact or (arrived and not approval_is_a_repeat(sit, status))):
        approved = enter(with_position(emptied, approved_at=sit.now), StepState.STEP_READY, sit.now)
        return Advance(approved, (Note(reasons.APPROVED, f"step({ours.step}) was approved"),))
    why = (
        f"step({ours.approval.step}) is not the present step({ours.step})"
        if ours.approval is not None and not exact
        else f"step({ours.step}) is in {ours.state}, nothing waits for an approval"
        if not paused
        else f"step({ours.step}): it repeats one honoured less than 2 s before"
    )
    note = Note(reasons.APPROVAL_IGNORED, f"an approval was put back: {why}", Severity.WARNING)
    return Advance(_mirror_restored(emptied), (note,))


def _mirror_restored(status: RolloutStatus) -> RolloutStatus:
    return with_canary(status, current_step_state=position(status).state)


def last_step_needs_no_pause(sit: Situation, index: int) -> bool:
    """Canary and partition: a last step of exactly `100%` goes on by itself, as in the original."""
    return (
        index >= len(sit.steps)
        and sit.step(index).replicas == "100%"
        and sit.style in (Style.CANARY, Style.PARTITION)
    )


def decide_pause(sit: Situation, status: RolloutStatus) -> Turn:
    """Wait at the end of a step, or go on."""
    ours = position(status)
    duration = sit.step(ours.step).pause.duration
    if duration == 0 or last_step_needs_no_pause(sit, ours.step):
        return Advance(enter(status, StepState.STEP_READY, sit.now))
    if duration is None:
        text = messages.in_step(sit, ours.step, messages.CONFIRM)
        return Stop(progressing(status, reasons.IN_ROLLING, text, sit.now))
    due = (ours.state_since or sit.now) + timedelta(seconds=duration)
    if due <= sit.now:
        return Advance(enter(status, StepState.STEP_READY, sit.now))
    text = messages.in_step(sit, ours.step, messages.waiting(duration))
    return Stop(progressing(status, reasons.IN_ROLLING, text, sit.now), wake_at=due)
