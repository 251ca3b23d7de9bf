"""How long work may take before it counts as stuck.

Invariant: only work is measured, never a person's or a timer's wait; the answer names the instant at which it will
change, so nobody has to look again before.
"""

from datetime import datetime, timedelta

from controller.domain.decision import Value


class Deadline(Value, frozen=True):
    """Until when work may take; `exceeded` where that is over."""

    due: datetime
    exceeded: bool


def deadline_of(began: datetime | None, seconds: int | None, now: datetime) -> Deadline | None:
    """The deadline of work that began then, None where none is set; a start that is not known counts as now."""
    if seconds is None:
        return None
    due = (began or now) + timedelta(seconds=seconds)
    return Deadline(due=due, exceeded=due <= now)
