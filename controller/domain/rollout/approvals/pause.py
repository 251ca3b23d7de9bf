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
from controller.api.rollout import Phase, Rollout, RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.rollout.approvals.analysing import (
    held_by_gate,
    holding_run,
    kept_runs,
    measured_anew,
)
from controller.domain.rollout.approvals.unsigned import NOT_RECORDED, is_signed, signed
from controller.domain.rollout.moving.config_release import config_housekeeping
from controller.domain.rollout.trouble.stuck import trouble_of
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.release_context import (
    Style,
    canary_status,
    current_state,
    current_step,
    moonshift_status,
)
from controller.domain.rollout.words.release_value import Release, of_rollout_alone
from controller.domain.rollout.words.status import condition, with_canary
from controller.domain.rollout.words.transition import Continue, Transition

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


def pause_is_too_soon(release: Release) -> bool:
    """The step's work is done, but the client that approved the step before may not have seen the effect yet."""
    due = release.ours.pause_not_before
    return due is not None and release.now < due and _pause_is_visible(release)


def _pause_is_visible(release: Release) -> bool:
    """Clients can see StepPaused at this step; it is not passed through in one pass."""
    index = release.ours.step
    planned = release.step(index).pause.duration != 0 and not last_step_needs_no_pause(
        release, index
    )
    return planned or holding_run(release) is not None


def _stalled_by(release: Release) -> Condition | None:
    """The problem that has to be solved before a step may be approved.

    Some problems do not block an approval:
     * a copy of content that cannot be written or deleted, because no step needs the copies;
     * a side without pods or a contested autoscaler, because the next step may be the only way out;
     * a failed gate, because the person who approves decides in its place;
     * pods that fail while the step waits, because the approver has read the message, and the next step waits for pods
       again.
    """
    found = condition(release.status, "Stalled")
    if found is None or found.status != "True" or config_housekeeping(release):
        return None
    trouble = trouble_of(release) if release.ours.state == StepState.STEP_PAUSED else None
    ways_out = (
        reasons.SIDE_WITHOUT_ENDPOINTS,
        reasons.STABLE_REVISION_GONE,
        reasons.AUTOSCALER_CONTESTED,
        reasons.ANALYSIS_FAILED,
        reasons.ANALYSIS_INCONCLUSIVE,
        trouble.reason if trouble is not None else "",
    )
    return None if found.reason in ways_out else found


def _may_be_approved(release: Release) -> bool:
    ours = release.ours
    if _stalled_by(release) is not None:
        return False
    if ours.state == StepState.STEP_PAUSED:
        return True
    # An approval that names its step cannot be a repeat: it counts as soon as the work is done.
    done = ours.state == StepState.STEP_METRICS_ANALYSIS and pause_is_too_soon(release)
    return done and exact_approval(release.status)


def read_mailbox(release: Release) -> Continue | None:
    """Honour an approval, or reset it with a message; None when there is none."""
    ours = release.ours
    exact = exact_approval(release.status)
    arrived = approval_arrived(release.status)
    if not arrived and ours.approval is None:
        return None
    emptied = release.noting(approval=None)
    if _may_be_approved(release) and (exact or arrived):
        text = f"step({ours.step}) was approved{_in_their_words(release.status)}"
        emptied = signed(release).noting(approval=None)
        not_before = None if exact else release.now + SEEN_BY_ALL
        approved = emptied.noting(
            approved_at=release.now, pause_not_before=not_before, analyses=kept_runs(ours.analyses)
        )
        return approved.entering(StepState.STEP_READY).go_on(Note(reasons.APPROVED, text))
    text = f"an approval was reset: {_why_not(release)}"
    note = Note(reasons.APPROVAL_IGNORED, text, Severity.WARNING)
    return Continue(_mirror_restored(emptied.status), (note,))


def _in_their_words(status: RolloutStatus) -> str:
    """The approver, and the reason if the approval gives one; or that nobody recorded who it was."""
    if not is_signed(status):
        return f"; {NOT_RECORDED}"
    approval = moonshift_status(status).approval
    return f" by {approval.by}: {approval.message}" if approval and approval.message else ""


def _why_not(release: Release) -> str:
    ours = release.ours
    if ours.approval is not None and not exact_approval(release.status):
        return f"step({ours.approval.step}) is not the present step({ours.step})"
    stalled = _stalled_by(release)
    if stalled is not None:
        return f"the release is stalled by {stalled.reason}: {stalled.message}"
    if pause_is_too_soon(release):
        return (
            f"it came less than {SEEN_BY_ALL.seconds} s after another, or after a jump, and may repeat it; "
            f"approve step({ours.step}) when it is in StepPaused, or name it"
        )
    return f"step({ours.step}) is in {ours.state}, nothing waits for an approval"


def _mirror_restored(status: RolloutStatus) -> RolloutStatus:
    return with_canary(status, current_step_state=moonshift_status(status).state)


def last_step_needs_no_pause(release: Release, index: int) -> bool:
    """Canary and partition: a last step of exactly `100%` goes on by itself, as in the original."""
    return (
        index >= len(release.steps)
        and release.step(index).replicas == "100%"
        and release.style in (Style.CANARY, Style.PARTITION)
    )


def a_person_ends_the_step(release: Release) -> bool:
    """The step's work is done and only an approval continues the release: neither a timer nor the plan does."""
    if current_state(release.status) != StepState.STEP_PAUSED or not release.steps:
        return False
    if holding_run(release) is not None:
        return True
    index = current_step(release.status)
    pause = release.step(index).pause
    return pause.duration is None and not last_step_needs_no_pause(release, index)


def was_approved(status: RolloutStatus) -> bool:
    """Somebody approved the present step, and the controller has not stored that it acted on it."""
    return approval_arrived(status) or exact_approval(status)


def awaits_approval(rollout: Rollout) -> bool:
    """A person has to approve the present step now: nobody has, and neither a hold nor an end of the release goes
    before it. The Rollout alone tells it, so clients ask here, too.
    """
    status = rollout.status
    held = rollout.spec.strategy.paused or moonshift_status(status).goal
    if status.phase != Phase.PROGRESSING or held or was_approved(status):
        return False
    return a_person_ends_the_step(of_rollout_alone(rollout))


def decide_pause(release: Release) -> Transition:
    """Wait at the end of a step, or go on; measure first if the step's gate has no verdict."""
    again = measured_anew(release)
    if again is not None:
        return again
    ours = release.ours
    duration = release.step(ours.step).pause.duration
    held = held_by_gate(release)
    if held is not None:
        text = messages.in_step(release, ours.step, messages.HELD_BY_METRICS)
        return release.progressing(reasons.IN_ROLLING, text).stop(problem=held)
    if not _pause_is_visible(release):
        return release.entering(StepState.STEP_READY).go_on()
    if duration is None:
        text = messages.in_step(release, ours.step, messages.CONFIRM)
        return release.progressing(reasons.IN_ROLLING, text).stop()
    due = later(ours.state_since or release.now, of_seconds(duration))
    if due <= release.now:
        return release.entering(StepState.STEP_READY).go_on()
    text = messages.in_step(release, ours.step, messages.waiting(duration))
    return release.progressing(reasons.IN_ROLLING, text).stop(wake_at=due)
