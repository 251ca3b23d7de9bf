"""When each step was begun, was done with its work, and was left: what deadlines and the history are told from.

Invariant: functions of the visits alone; nothing is decided by a visit but how long the present step has taken. A
visit that has no `ready_at` was left, or is still, before its pods and routes were in place.
"""

from datetime import datetime

from msgspec import structs

from controller.api.rollout import StepVisit

Visits = tuple[StepVisit, ...]

MOST = 60
"""Visits kept; the oldest go first (a release may be jumped about in for days)."""


def opened(visits: Visits, step: int, now: datetime) -> Visits:
    """A step is begun; the one before it is left."""
    return (*closed(visits, now), StepVisit(step=step, started_at=now))[-MOST:]


def ready(visits: Visits, now: datetime) -> Visits:
    """The present step's pods and routes are in place: from here on it waits for people or a timer."""
    if not visits or visits[-1].ready_at is not None or visits[-1].ended_at is not None:
        return visits
    return (*visits[:-1], structs.replace(visits[-1], ready_at=now))


def closed(visits: Visits, now: datetime) -> Visits:
    """The present step is left."""
    if not visits or visits[-1].ended_at is not None:
        return visits
    return (*visits[:-1], structs.replace(visits[-1], ended_at=now))
