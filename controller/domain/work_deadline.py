"""The longest time that work may take before it counts as stuck.

Invariant: only work is measured, never a person's or a timer's wait; the answer names the instant at which it will
change, so no pass is needed before.
"""

from datetime import datetime

from controller.api.duration import later, of_seconds
from controller.domain.decision import Value


class Deadline(Value, frozen=True):
    """The end of the time for a work; `exceeded` when it has passed."""

    due: datetime
    exceeded: bool


def deadline_of(began: datetime | None, seconds: int | None, now: datetime) -> Deadline | None:
    """The deadline of work that began at that time; None if none is set. An unknown start counts as now."""
    if seconds is None:
        return None
    due = later(began or now, of_seconds(seconds))
    return Deadline(due=due, exceeded=due <= now)
