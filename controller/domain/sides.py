"""Sides of the traffic, and the record of those without ready pods: of a Rollout's own routes and of shared routes.

A side is the stable or the new revision behind one Service. Nothing moves during the grace period. Then the side's
share moves to the other side, and it returns once its own side has been ready for a grace period.
Invariant: instants are kept in the status of the owner, and a missing instant counts as now. The owner knows which
sides are ready and have a share (`Facts`), and moves the shares that the record names; nothing here asks or moves.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from msgspec import structs

from controller.api.duration import later
from controller.api.rollout import EmptySide
from controller.domain.decision import Value

Sides = dict[str, EmptySide]
"""The record in a status: an entry for each side without ready pods, by its key."""


class SideRevision(StrEnum):
    """The revision of a side."""

    STABLE = "stable"
    NEW = "new"

    @property
    def other(self) -> "SideRevision":
        """The revision of the side that gets the share."""
        return SideRevision.NEW if self is SideRevision.STABLE else SideRevision.STABLE


SERVICE = "service"
"""A side's share was given away by un-pinning its Service."""
ROUTES = "routes"
"""A side's share was given away by the gateway objects."""


class Side(Value, frozen=True):
    """One revision behind one stable Service."""

    revision: SideRevision
    service: str

    @property
    def key(self) -> str:
        """Its name in status."""
        return f"{self.revision}/{self.service}"


class Facts(Protocol):
    """The observed state of one side."""

    @property
    def patience(self) -> timedelta:
        """The time after which the share of the empty side moves."""
        ...

    def is_ready(self) -> bool:
        """Requests for this side reach a ready pod."""
        ...

    def is_wrong(self) -> bool:
        """This side has a share, while the other side has ready pods."""
        ...

    def is_over(self, known: EmptySide) -> bool:
        """The share does not return: nothing is pinned, or routed, any more."""
        ...

    def way_to_move_share(self) -> str:
        """`SERVICE` or `ROUTES`; empty if no pod would receive the share."""
        ...


def advanced(
    known: Sides, observed: Iterable[tuple[Side, Facts]], grace: timedelta, now: datetime
) -> Sides:
    """Since when each side is empty while the other is not, and since when an empty side is ready again."""
    entries = (
        (side.key, advance(known.get(side.key), facts, grace, now)) for side, facts in observed
    )
    return {key: entry for key, entry in entries if entry is not None}


def advance(
    known: EmptySide | None, side: Facts, grace: timedelta, now: datetime
) -> EmptySide | None:
    """The record of a side after this pass; None if the side has no problem.

    A record begins only for a side that has a share, while the other side has ready pods. It then stays until the side
    is ready again, or until its share does not return.
    """
    if side.is_ready():
        return _returning(known, grace, now)
    if not side.is_wrong() if known is None else side.is_over(known):
        return None
    entry = known or EmptySide()
    since = entry.since or now
    entry = structs.replace(entry, since=since, ready_again=None)
    if entry.led_away or later(since, side.patience) > now:
        return entry
    return structs.replace(entry, led_away=side.way_to_move_share())


def _returning(known: EmptySide | None, grace: timedelta, now: datetime) -> EmptySide | None:
    """The record ends when the side has been ready for the grace period; at once where no share was moved."""
    if known is None or not known.led_away:
        return None
    since = known.ready_again or now
    return None if later(since, grace) <= now else structs.replace(known, ready_again=since)


def is_led_away(entries: Sides, side: Side) -> bool:
    """The share of this side is sent to the other side."""
    return side.key in entries and bool(entries[side.key].led_away)


def is_waited_for(entries: Sides, side: Side) -> bool:
    """The side has been empty for less than the grace period."""
    return side.key in entries and not entries[side.key].led_away


def next_look(entries: Sides, grace: timedelta, now: datetime) -> datetime | None:
    """The next instant at which a wait ends."""
    starts = (entry.ready_again if entry.led_away else entry.since for entry in entries.values())
    due = (later(start, grace) for start in starts if start is not None)
    return min((instant for instant in due if instant > now), default=None)
