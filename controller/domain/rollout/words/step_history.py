"""The visits of a release to its steps: when each was begun, completed its work, and was left.

Invariant: functions of the visits alone. Only deadlines read them, for the time that the present step has taken. A
visit without `ready_at` ended before its pods and routes were in place, or has not reached that yet.
"""

from datetime import datetime

from msgspec import structs

from controller.api.rollout import StepVisit

StepHistory = tuple[StepVisit, ...]

MAX_VISITS = 60
"""Visits kept; the oldest are dropped first (people may jump between steps for days)."""


def opened(visits: StepHistory, step: int, now: datetime) -> StepHistory:
    """A step is begun; the one before it is left."""
    return (*closed(visits, now), StepVisit(step=step, started_at=now))[-MAX_VISITS:]


def ready(visits: StepHistory, now: datetime) -> StepHistory:
    """The present step's pods and routes are in place: from now on it waits for people or a timer."""
    if not visits or visits[-1].ready_at is not None or visits[-1].ended_at is not None:
        return visits
    return (*visits[:-1], structs.replace(visits[-1], ready_at=now))


def closed(visits: StepHistory, now: datetime) -> StepHistory:
    """The present step is left."""
    if not visits or visits[-1].ended_at is not None:
        return visits
    return (*visits[:-1], structs.replace(visits[-1], ended_at=now))
