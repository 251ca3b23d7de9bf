"""When a step may end: a person's approval, a timer, or nothing to wait for.

`currentStepState` is a mailbox: a client writes `StepReady` into it. It is honoured only while our own position is
StepPaused (earlier it would skip readiness, as it did in the original). Clients of the original write it again until
they see another state than StepPaused. So after an approval that did not name its step, the next StepPaused is entered
no sooner than `SEEN_BY_ALL` later. Until then the state before is shown: it ends their repeating, and an approval that
comes in it is put back. Invariant: one intent approves one step.
"""

from datetime import timedelta

from controller.api.meta import Condition
from controller.api.rollout import RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.rollout import messages
from controller.domain.rollout.situation import Situation, Style, canary_status, position
from controller.domain.rollout.status import (
    condition,
    enter,
    progressing,
    with_canary,
    with_position,
)
from controller.domain.rollout.turn import Advance, Stop, Turn

SEEN_BY_ALL = timedelta(seconds=3)
"""How long a client may take to see that its approval was honoured; those of the original look every second."""


def approval_arrived(sit: Situation, status: RolloutStatus) -> bool:
    """Somebody wrote StepReady, by status patch."""
    return (
        canary_status(status).current_step_state == StepState.STEP_READY
        and position(status).state != StepState.STEP_READY
    )


def exact_approval(status: RolloutStatus) -> bool:
    """`moonshift approve --step N` named the step we are at."""
    ours = position(status)
    return ours.approval is not None and ours.approval.step == ours.step


def pause_is_too_soon(sit: Situation, status: RolloutStatus) -> bool:
    """The step's work is done, and whoever approved the step before may not have seen that it was honoured."""
    due = position(status).pause_not_before
    return due is not None and sit.now < due and _is_rested_at(sit, position(status).step)


def _is_rested_at(sit: Situation, index: int) -> bool:
    """StepPaused is a state that anybody sees at this step, not one that is walked through."""
    return sit.step(index).pause.duration != 0 and not last_step_needs_no_pause(sit, index)


def _stalled_by(sit: Situation) -> Condition | None:
    """The problem that has to be solved before a step may be let go.

    A content that cannot be kept is none. Nor is a side without pods: going on may be the only way out of it.
    """
    found = condition(sit.seen.rollout.status, "Stalled")
    if found is None or found.status != "True" or sit.seen.config is not None:
        return None
    ways_out = (reasons.SIDE_WITHOUT_ENDPOINTS, reasons.STABLE_REVISION_GONE)
    return None if found.reason in ways_out else found


def _may_be_approved(sit: Situation, status: RolloutStatus) -> bool:
    ours = position(status)
    if _stalled_by(sit) is not None:
        return False
    if ours.state == StepState.STEP_PAUSED:
        return True
    # An approval that names its step is no repeat of another: it counts as soon as the work is done.
    done = ours.state == StepState.STEP_METRICS_ANALYSIS and pause_is_too_soon(sit, status)
    return done and exact_approval(status)


def read_mailbox(sit: Situation, status: RolloutStatus) -> Advance | None:
    """Honour an approval, or put it back with a word; None when there is none."""
    ours = position(status)
    exact = exact_approval(status)
    arrived = approval_arrived(sit, status)
    if not arrived and ours.approval is None:
        return None
    emptied = with_position(status, approval=None)
    if _may_be_approved(sit, status) and (exact or arrived):
        not_before = None if exact else sit.now + SEEN_BY_ALL
        approved = with_position(emptied, approved_at=sit.now, pause_not_before=not_before)
        text = f"step({ours.step}) was approved"
        return Advance(
            enter(approved, StepState.STEP_READY, sit.now), (Note(reasons.APPROVED, text),)
        )
    text = f"an approval was put back: {_why_not(sit, status)}"
    note = Note(reasons.APPROVAL_IGNORED, text, Severity.WARNING)
    return Advance(_mirror_restored(emptied), (note,))


def _why_not(sit: Situation, status: RolloutStatus) -> str:
    ours = position(status)
    if ours.approval is not None and not exact_approval(status):
        return f"step({ours.approval.step}) is not the present step({ours.step})"
    stalled = _stalled_by(sit)
    if stalled is not None:
        return f"the release is stalled by {stalled.reason}: {stalled.message}"
    if pause_is_too_soon(sit, status):
        return (
            f"it came less than {SEEN_BY_ALL.seconds} s after another and may repeat it; "
            f"approve step({ours.step}) when it is in StepPaused, or name it"
        )
    return f"step({ours.step}) is in {ours.state}, nothing waits for an approval"


def _mirror_restored(status: RolloutStatus) -> RolloutStatus:
    return with_canary(status, current_step_state=position(status).state)


def last_step_needs_no_pause(sit: Situation, index: int) -> bool:
    """Canary and partition: a last step of exactly `100%` goes on by itself, as in the original."""
    return (
        index >= len(sit.steps)
        and sit.step(index).replicas == "100%"
        and sit.style in (Style.CANARY, Style.PARTITION)
    )


def a_person_is_waited_for(sit: Situation, status: RolloutStatus) -> bool:
    """The step's work is done and only an approval takes the release on: no timer does, nor the plan."""
    ours = position(status)
    if ours.state != StepState.STEP_PAUSED or not sit.steps:
        return False
    return sit.step(ours.step).pause.duration is None and _is_rested_at(sit, ours.step)


def decide_pause(sit: Situation, status: RolloutStatus) -> Turn:
    """Wait at the end of a step, or go on."""
    ours = position(status)
    duration = sit.step(ours.step).pause.duration
    if not _is_rested_at(sit, ours.step):
        return Advance(enter(status, StepState.STEP_READY, sit.now))
    if duration is None:
        text = messages.in_step(sit, ours.step, messages.CONFIRM)
        return Stop(progressing(status, reasons.IN_ROLLING, text, sit.now))
    due = (ours.state_since or sit.now) + timedelta(seconds=duration)
    if due <= sit.now:
        return Advance(enter(status, StepState.STEP_READY, sit.now))
    text = messages.in_step(sit, ours.step, messages.waiting(duration))
    return Stop(progressing(status, reasons.IN_ROLLING, text, sit.now), wake_at=due)
