"""Decides when a step may end: after a person's approval, after a timer, or at once.

`currentStepState` is a mailbox: a client writes `StepReady` into it. It is honoured only while our own state is
StepPaused (earlier it would skip readiness, as it did in the original). Clients of the original repeat this write until
they see a state other than StepPaused. So after an approval that did not name its step, the next StepPaused is entered
at least `SEEN_BY_ALL` later. Until then the status shows the state before, which ends the repeats; an approval that
arrives in that time is reset. Invariant: one approval approves one step.
"""

from datetime import timedelta

from controller.api.duration import later, of_seconds
from controller.api.meta import Condition
from controller.api.rollout import RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.rollout import messages
from controller.domain.rollout.analysing import held_by_gate, holding_run, kept_runs, measured_anew
from controller.domain.rollout.config_release import config_housekeeping
from controller.domain.rollout.release_context import (
    ReleaseContext,
    Style,
    canary_status,
    moonshift_status,
)
from controller.domain.rollout.status import (
    condition,
    enter,
    progressing,
    with_canary,
    with_moonshift_status,
)
from controller.domain.rollout.stuck import trouble_of
from controller.domain.rollout.transition import Continue, Stop, Transition
from controller.domain.rollout.unsigned import NOT_RECORDED, is_signed, signed

SEEN_BY_ALL = timedelta(seconds=3)
"""The time in which every client sees that its approval or jump was honoured; clients of the original look every
second.
"""


def approval_arrived(status: RolloutStatus) -> bool:
    """Somebody wrote StepReady by a status patch."""
    return (
        canary_status(status).current_step_state == StepState.STEP_READY
        and moonshift_status(status).state != StepState.STEP_READY
    )


def exact_approval(status: RolloutStatus) -> bool:
    """`moonshift approve --step N` named the present step."""
    ours = moonshift_status(status)
    return ours.approval is not None and ours.approval.step == ours.step


def pause_is_too_soon(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The step's work is done, but the client that approved the step before may not have seen the effect yet."""
    due = moonshift_status(status).pause_not_before
    return due is not None and context.now < due and _pause_is_visible(context, status)


def _pause_is_visible(context: ReleaseContext, status: RolloutStatus) -> bool:
    """Clients can see StepPaused at this step; it is not passed through in one pass."""
    index = moonshift_status(status).step
    planned = context.step(index).pause.duration != 0 and not last_step_needs_no_pause(
        context, index
    )
    return planned or holding_run(context, status) is not None


def _stalled_by(context: ReleaseContext, status: RolloutStatus) -> Condition | None:
    """The problem that has to be solved before a step may be approved.

    Some problems do not block an approval:
     * a copy of content that cannot be written or deleted, because no step needs the copies;
     * a side without pods or a contested autoscaler, because the next step may be the only way out;
     * a failed gate, because the person who approves decides in its place;
     * pods that fail while the step waits, because the approver has read the message, and the next step waits for pods
       again.
    """
    found = condition(context.seen.rollout.status, "Stalled")
    if found is None or found.status != "True" or config_housekeeping(context, status):
        return None
    trouble = (
        trouble_of(context, status)
        if moonshift_status(status).state == StepState.STEP_PAUSED
        else None
    )
    ways_out = (
        reasons.SIDE_WITHOUT_ENDPOINTS,
        reasons.STABLE_REVISION_GONE,
        reasons.AUTOSCALER_CONTESTED,
        reasons.ANALYSIS_FAILED,
        reasons.ANALYSIS_INCONCLUSIVE,
        trouble.reason if trouble is not None else "",
    )
    return None if found.reason in ways_out else found


def _may_be_approved(context: ReleaseContext, status: RolloutStatus) -> bool:
    ours = moonshift_status(status)
    if _stalled_by(context, status) is not None:
        return False
    if ours.state == StepState.STEP_PAUSED:
        return True
    # An approval that names its step cannot be a repeat: it counts as soon as the work is done.
    done = ours.state == StepState.STEP_METRICS_ANALYSIS and pause_is_too_soon(context, status)
    return done and exact_approval(status)


def read_mailbox(context: ReleaseContext, status: RolloutStatus) -> Continue | None:
    """Honour an approval, or reset it with a message; None when there is none."""
    ours = moonshift_status(status)
    exact = exact_approval(status)
    arrived = approval_arrived(status)
    if not arrived and ours.approval is None:
        return None
    emptied = with_moonshift_status(status, approval=None)
    if _may_be_approved(context, status) and (exact or arrived):
        text = f"step({ours.step}) was approved{_in_their_words(status)}"
        emptied = with_moonshift_status(signed(context, status), approval=None)
        not_before = None if exact else context.now + SEEN_BY_ALL
        approved = with_moonshift_status(
            emptied,
            approved_at=context.now,
            pause_not_before=not_before,
            analyses=kept_runs(ours.analyses),
        )
        return Continue(
            enter(approved, StepState.STEP_READY, context.now), (Note(reasons.APPROVED, text),)
        )
    text = f"an approval was reset: {_why_not(context, status)}"
    note = Note(reasons.APPROVAL_IGNORED, text, Severity.WARNING)
    return Continue(_mirror_restored(emptied), (note,))


def _in_their_words(status: RolloutStatus) -> str:
    """The approver, and the reason if the approval gives one; or that nobody recorded who it was."""
    if not is_signed(status):
        return f"; {NOT_RECORDED}"
    approval = moonshift_status(status).approval
    return f" by {approval.by}: {approval.message}" if approval and approval.message else ""


def _why_not(context: ReleaseContext, status: RolloutStatus) -> str:
    ours = moonshift_status(status)
    if ours.approval is not None and not exact_approval(status):
        return f"step({ours.approval.step}) is not the present step({ours.step})"
    stalled = _stalled_by(context, status)
    if stalled is not None:
        return f"the release is stalled by {stalled.reason}: {stalled.message}"
    if pause_is_too_soon(context, status):
        return (
            f"it came less than {SEEN_BY_ALL.seconds} s after another, or after a jump, and may repeat it; "
            f"approve step({ours.step}) when it is in StepPaused, or name it"
        )
    return f"step({ours.step}) is in {ours.state}, nothing waits for an approval"


def _mirror_restored(status: RolloutStatus) -> RolloutStatus:
    return with_canary(status, current_step_state=moonshift_status(status).state)


def last_step_needs_no_pause(context: ReleaseContext, index: int) -> bool:
    """Canary and partition: a last step of exactly `100%` goes on by itself, as in the original."""
    return (
        index >= len(context.steps)
        and context.step(index).replicas == "100%"
        and context.style in (Style.CANARY, Style.PARTITION)
    )


def a_person_is_waited_for(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The step's work is done and only an approval continues the release: neither a timer nor the plan does."""
    ours = moonshift_status(status)
    if ours.state != StepState.STEP_PAUSED or not context.steps:
        return False
    if holding_run(context, status) is not None:
        return True
    return context.step(ours.step).pause.duration is None and _pause_is_visible(context, status)


def decide_pause(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """Wait at the end of a step, or go on; measure first if the step's gate has no verdict."""
    again = measured_anew(context, status)
    if again is not None:
        return again
    ours = moonshift_status(status)
    duration = context.step(ours.step).pause.duration
    held = held_by_gate(context, status)
    if held is not None:
        text = messages.in_step(context, ours.step, messages.HELD_BY_METRICS)
        return Stop(progressing(status, reasons.IN_ROLLING, text, context.now), problem=held)
    if not _pause_is_visible(context, status):
        return Continue(enter(status, StepState.STEP_READY, context.now))
    if duration is None:
        text = messages.in_step(context, ours.step, messages.CONFIRM)
        return Stop(progressing(status, reasons.IN_ROLLING, text, context.now))
    due = later(ours.state_since or context.now, of_seconds(duration))
    if due <= context.now:
        return Continue(enter(status, StepState.STEP_READY, context.now))
    text = messages.in_step(context, ours.step, messages.waiting(duration))
    return Stop(progressing(status, reasons.IN_ROLLING, text, context.now), wake_at=due)
