"""Lanes of a TrafficRouting: no share stays on a revision without ready pods while the other one has some.

As `rollout/guarding` for a Rollout's own routes: for the grace period nothing is moved, then the lane gives everything
to the side that lives, and comes back once the other has been ready for the grace period again.
Invariant: pure; instants are kept in the status of the TrafficRouting, and a missing one counts as now.
"""

from datetime import datetime, timedelta

from msgspec import structs

from controller.api.rollout import EmptySide
from controller.domain import reasons
from controller.domain.decision import Refusal, Value

NEW, STABLE = "new", "stable"


class Lane(Value, frozen=True):
    """One Service of a TrafficRouting, and who answers behind it."""

    service: str
    led: bool
    """Routes divide its requests now."""
    new: bool
    stable: bool
    joined: bool = True
    """A member has pods behind it, ready or not; a lane that nobody needs any more is shut at once."""


Sides = dict[str, EmptySide]


def noted(known: Sides, lanes: tuple[Lane, ...], grace: timedelta, now: datetime) -> Sides:
    """Since when each side is empty while the other is not, and since when it is no more."""
    found: Sides = {}
    for lane in lanes:
        for half, alive, other in ((NEW, lane.new, lane.stable), (STABLE, lane.stable, lane.new)):
            if half == NEW and not lane.joined:
                continue
            key = f"{half}/{lane.service}"
            entry = _entry(known.get(key), alive, lane.led and other, grace, now)
            if entry is not None:
                found[key] = entry
    return found


def _entry(
    known: EmptySide | None, alive: bool, led: bool, grace: timedelta, now: datetime
) -> EmptySide | None:
    if alive:
        return _returning(known, grace, now)
    if known is None and not led:
        return None
    entry = known or EmptySide()
    since = entry.since or now
    away = entry.led_away or ("routes" if led and since + grace <= now else "")
    return structs.replace(entry, since=since, led_away=away, ready_again=None)


def _returning(known: EmptySide | None, grace: timedelta, now: datetime) -> EmptySide | None:
    if known is None or not known.led_away:
        return None
    again = known.ready_again or now
    return None if again + grace <= now else structs.replace(known, ready_again=again)


def is_away(sides: Sides, half: str, service: str) -> bool:
    """The share of this side is elsewhere."""
    entry = sides.get(f"{half}/{service}")
    return entry is not None and bool(entry.led_away)


def is_waited_for(sides: Sides, half: str, service: str) -> bool:
    """The side has been empty for less than the grace period."""
    entry = sides.get(f"{half}/{service}")
    return entry is not None and not entry.led_away


def next_look(sides: Sides, grace: timedelta, now: datetime) -> datetime | None:
    """When a wait is over."""
    starts = (entry.ready_again if entry.led_away else entry.since for entry in sides.values())
    due = (start + grace for start in starts if start is not None)
    return min((instant for instant in due if instant > now), default=None)


def told(sides: Sides, named: str) -> Refusal | None:
    """What is said while a share is elsewhere."""
    for key, entry in sides.items():
        half, _, service = key.partition("/")
        if entry.led_away:
            other = STABLE if half == NEW else NEW
            text = (
                f"{named}: no pod of the {half} revision is ready behind Service {service}: all requests go to the "
                f"{other} revision until one is"
            )
            return Refusal(reasons.SIDE_WITHOUT_ENDPOINTS, text, object=named)
    return None
