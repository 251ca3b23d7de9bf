"""How often a changed place is put back: twice a minute, then once in five minutes."""

from collections import deque
from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.decision import Reference
from controller.domain.fights import FIGHT_WINDOW, RETRY_AFTER_FIGHT
from controller.domain.observation import RoutePresent, RouteSeen
from controller.domain.traffic.drift.policy import (
    PutBacks,
    changed_at,
    drift_among,
    next_put_back,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLACE = ("spec.http[0].route[1].weight",)
REFERENCE = Reference("networking.istio.io/v1", "VirtualService", "web", "web", "web-canary")


def at(seconds: float) -> datetime:
    """So long after the begin."""
    return NOW + timedelta(seconds=seconds)


def put_backs(changes: list[float]) -> list[float]:
    """The times at which a place is put back if somebody changes it at these times, in seconds."""
    last = PutBacks()
    done: list[float] = []
    waiting = deque(sorted(changes))
    while waiting:
        changed = waiting.popleft()
        until = _until(last, changed, changed)
        while until is not None:
            while waiting and at(waiting[0]) < until:
                # Changed again meanwhile: the last change counts.
                changed = waiting.popleft()
                until = _until(last, changed, changed) or until
            now = (until - NOW).total_seconds()
            until = _until(last, changed, now)
            if until is None:
                last, done = _done(last, changed, now, done)
                break
        else:
            last, done = _done(last, changed, changed, done)
    return done


def _done(
    last: PutBacks, changed: float, now: float, done: list[float]
) -> tuple[PutBacks, list[float]]:
    return next_put_back(last, PLACE, at(now), at(changed)), [*done, now]


def _until(last: PutBacks, changed: float, now: float) -> datetime | None:
    state = RoutePresent(
        raw=msgspec.Raw(b"{}"),
        plan="p",
        touched=True,
        edited_at=at(changed),
        places=PLACE,
        corrected=last.places,
        corrected_at=last.at,
        corrected_before=last.before,
    )
    return drift_among((RouteSeen(REFERENCE, state),), "shop", at(now)).wake_at


def test_a_place_that_is_changed_every_ten_seconds_is_put_back_twice_and_then_waits() -> None:
    assert put_backs([0, 10, 20]) == [0, 10, 20 + RETRY_AFTER_FIGHT.total_seconds()]


def test_after_a_fight_every_further_change_waits_five_minutes() -> None:
    first = 20 + RETRY_AFTER_FIGHT.total_seconds()
    second = first + 10
    assert put_backs([0, 10, 20, second]) == [
        0,
        10,
        first,
        second + RETRY_AFTER_FIGHT.total_seconds(),
    ]


def test_a_place_that_is_changed_now_and_then_is_put_back_each_time() -> None:
    assert put_backs([0, 70, 140, 210]) == [0, 70, 140, 210]


def test_an_object_that_is_deleted_at_once_each_time_is_made_again_twice_in_five_minutes() -> None:
    """A deletion leaves no time: passes for other reasons are no sign that the fight is over."""
    last = PutBacks()
    done: list[float] = []
    for seconds in range(0, 1200, 10):
        state = RoutePresent(
            raw=msgspec.Raw(b"{}"),
            plan="p",
            touched=True,
            places=PLACE,
            corrected=last.places,
            corrected_at=last.at,
            corrected_before=last.before,
        )
        if drift_among((RouteSeen(REFERENCE, state),), "shop", at(seconds)).held is None:
            when = changed_at(None, last.at, at(seconds))
            last, done = next_put_back(last, PLACE, at(seconds), when), [*done, seconds]
    assert done == [0, 10, 310, 320, 620, 630, 930, 940]


def test_another_place_begins_again() -> None:
    last = PutBacks(PLACE, at(0), at(0))
    assert next_put_back(last, ("spec.hosts",), at(1), at(1)) == PutBacks(("spec.hosts",), at(1))


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=60))
def test_no_minute_has_more_than_two_put_backs(changes: list[float]) -> None:
    done = put_backs(changes)
    assert all(
        third - first >= FIGHT_WINDOW.total_seconds()
        for first, third in zip(done, done[2:], strict=False)
    )
