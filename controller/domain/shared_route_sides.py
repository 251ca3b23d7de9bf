"""Sides of shared routes: no revision without ready pods keeps a share while the other revision has ready pods.

As `rollout/routes/empty_side_routes` for a Rollout's own routes: nothing moves during the grace period. Then the shared
route sends all requests to the side with ready pods, and returns to its shares once the other side has been ready for a
grace period.
Invariant: pure; instants are kept in the status of the TrafficRouting, and a missing instant counts as now.
"""

from datetime import datetime, timedelta

from msgspec import structs

from controller.api.duration import later
from controller.api.rollout import EmptySide
from controller.domain import reasons
from controller.domain.decision import Refusal, Value

NEW, STABLE = "new", "stable"


class SharedRoute(Value, frozen=True):
    """One Service of a TrafficRouting, and its pods. `new` and `stable`: a ready pod of that revision is behind it."""

    service: str
    led: bool
    """Routes divide its requests now."""
    new: bool
    stable: bool
    joined: bool = True
    """A member has pods behind it, ready or not; a shared route without members is closed at once."""


Sides = dict[str, EmptySide]


def noted(known: Sides, routes: tuple[SharedRoute, ...], grace: timedelta, now: datetime) -> Sides:
    """Since when each side is empty while the other is not, and since when an empty side is ready again.

    A side is the name of a revision, `new` or `stable`, behind one Service.
    """
    found: Sides = {}
    for route in routes:
        for side, alive, other in (
            (NEW, route.new, route.stable),
            (STABLE, route.stable, route.new),
        ):
            if side == NEW and not route.joined:
                continue
            key = f"{side}/{route.service}"
            entry = _entry(known.get(key), alive, route.led and other, grace, now)
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
    away = entry.led_away or ("routes" if led and later(since, grace) <= now else "")
    return structs.replace(entry, since=since, led_away=away, ready_again=None)


def _returning(known: EmptySide | None, grace: timedelta, now: datetime) -> EmptySide | None:
    if known is None or not known.led_away:
        return None
    again = known.ready_again or now
    return None if later(again, grace) <= now else structs.replace(known, ready_again=again)


def is_away(sides: Sides, side: str, service: str) -> bool:
    """The share of this side is sent to the other side."""
    entry = sides.get(f"{side}/{service}")
    return entry is not None and bool(entry.led_away)


def is_waited_for(sides: Sides, side: str, service: str) -> bool:
    """The side has been empty for less than the grace period."""
    entry = sides.get(f"{side}/{service}")
    return entry is not None and not entry.led_away


def next_look(sides: Sides, grace: timedelta, now: datetime) -> datetime | None:
    """The next instant at which a wait ends."""
    starts = (entry.ready_again if entry.led_away else entry.since for entry in sides.values())
    due = (later(start, grace) for start in starts if start is not None)
    return min((instant for instant in due if instant > now), default=None)


def empty_side_refusal(sides: Sides, named: str) -> Refusal | None:
    """The message while a share is sent to the other side; None if no share is."""
    for key, entry in sides.items():
        side, _, service = key.partition("/")
        if entry.led_away:
            other = STABLE if side == NEW else NEW
            text = (
                f"{named}: no pod of the {side} revision is ready behind Service {service}: all requests go to the "
                f"{other} revision until one is"
            )
            return Refusal(reasons.SIDE_WITHOUT_ENDPOINTS, text, object=named)
    return None
