"""Builds the next status: conditions with honest timestamps, the mirrored step and state, kstatus.

Invariant: setting a value that is already set changes nothing (no write, no new timestamp). `currentStepState` always
mirrors our own state.
"""

from datetime import datetime

from msgspec import structs

from controller.api.meta import Condition
from controller.api.rollout import (
    BUSY_PHASES,
    CanaryStatus,
    MoonshiftStatus,
    Phase,
    RolloutStatus,
    StepState,
)
from controller.domain import reasons
from controller.domain.conditions import find_condition, set_condition, settled_conditions
from controller.domain.decision import Refusal
from controller.domain.rollout.words import step_history
from controller.domain.rollout.words.release_context import canary_status, moonshift_status


def with_canary(status: RolloutStatus, **changes: object) -> RolloutStatus:
    """The sub-status clients read, changed."""
    changed: CanaryStatus = structs.replace(canary_status(status), **changes)
    return status.with_release(changed)


def with_moonshift_status(status: RolloutStatus, **changes: object) -> RolloutStatus:
    """Our own part of the status, changed."""
    changed: MoonshiftStatus = structs.replace(moonshift_status(status), **changes)
    return structs.replace(status, moonshift=changed)


def enter(status: RolloutStatus, state: StepState, now: datetime) -> RolloutStatus:
    """Move to a state of the present step; the mirror follows."""
    seen = moonshift_status(status).visits
    if state in (StepState.STEP_METRICS_ANALYSIS, StepState.STEP_PAUSED):
        seen = step_history.ready(seen, now)
    elif state is StepState.COMPLETED:
        seen = step_history.closed(seen, now)
    moved = with_moonshift_status(status, state=state, state_since=now, visits=seen)
    return with_canary(moved, current_step_state=state, last_update_time=now)


def condition(status: RolloutStatus, kind: str) -> Condition | None:
    """The condition of that type."""
    return find_condition(status.conditions, kind)


def with_condition(
    status: RolloutStatus, kind: str, value: str, reason: str, message: str, now: datetime
) -> RolloutStatus:
    """Set a condition; nothing changes when it says this already."""
    conditions = set_condition(status.conditions, kind, value, reason, message, now)
    if conditions is status.conditions:
        return status
    return structs.replace(status, conditions=conditions)


def without_condition(status: RolloutStatus, kind: str) -> RolloutStatus:
    """The status without a condition."""
    return structs.replace(status, conditions=tuple(c for c in status.conditions if c.type != kind))


def progressing(status: RolloutStatus, reason: str, message: str, now: datetime) -> RolloutStatus:
    """The Progressing condition and the line `kubectl get` shows."""
    value = "False" if reason == reasons.COMPLETED else "True"
    changed = with_condition(status, "Progressing", value, reason, message, now)
    return structs.replace(changed, message=message)


def with_kstatus(status: RolloutStatus, problem: Refusal | None, now: datetime) -> RolloutStatus:
    """Ready, Reconciling and Stalled, as kstatus, `helm --wait` and `kubectl wait` read them.

    Tools that wait for Ready print its message meanwhile, so the message names the reason of the wait.
    """
    busy = status.phase in BUSY_PHASES
    idle = status.phase in (Phase.HEALTHY, Phase.DISABLED)
    if problem is None:
        status = with_condition(status, "Stalled", "False", "", "", now)
    else:
        status = with_condition(status, "Stalled", "True", problem.reason, problem.message, now)
    found = condition(status, "Progressing")
    why = found.reason if busy and found is not None else ""
    doing = status.message if busy else ""
    status = with_condition(status, "Reconciling", "True" if busy else "False", why, doing, now)
    ready = idle and problem is None
    left = "" if ready else status.message
    phase = str(status.phase)
    return with_condition(status, "Ready", "True" if ready else "False", phase, left, now)


def mirrored(status: RolloutStatus) -> RolloutStatus:
    """Copy the step's index and state to the top level, where printed columns and blue-green clients read them."""
    inner = canary_status(status)
    return structs.replace(
        status,
        current_step_index=inner.current_step_index,
        current_step_state=inner.current_step_state,
    )


def settled(before: RolloutStatus, after: RolloutStatus) -> RolloutStatus:
    """`after`; or `before` itself if only instants differ.

    Why: writing a status without news wakes the pass that writes the next one.
    """
    conditions = settled_conditions(before.conditions, after.conditions)
    after = structs.replace(after, conditions=conditions)
    return before if _timeless(before) == _timeless(after) else after


def _timeless(status: RolloutStatus) -> RolloutStatus:
    """The status without the instants that entering a state sets."""
    if status.of_release is not None:
        status = with_canary(status, last_update_time=None)
    if isinstance(status.moonshift, MoonshiftStatus):
        status = with_moonshift_status(status, state_since=None)
    return status
