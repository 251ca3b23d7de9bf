"""When the share of a side without ready pods moves, and when it returns; the same for own and shared routes."""

from datetime import timedelta
from typing import NamedTuple

import pytest

from controller.api.rollout import EmptySide
from controller.domain.sides import ROUTES, Side, SideRevision, advance, next_look
from tests.unit.builders import NOW

GRACE = timedelta(seconds=3)
LONG_AGO, JUST_NOW = NOW - 2 * GRACE, NOW - GRACE / 2
EMPTY = EmptySide(since=JUST_NOW)
MOVED = EmptySide(since=LONG_AGO, led_away=ROUTES)


class Seen(NamedTuple):
    """A side as it is observed."""

    ready: bool = False
    wrong: bool = True
    over: bool = False
    way: str = ROUTES
    patience: timedelta = GRACE

    def is_ready(self) -> bool:
        return self.ready

    def is_wrong(self) -> bool:
        return self.wrong

    def is_over(self, _known: EmptySide) -> bool:
        return self.over

    def way_to_move_share(self) -> str:
        return self.way


@pytest.mark.parametrize(
    ("known", "seen", "after"),
    [
        (None, Seen(ready=True), None),
        (None, Seen(wrong=False), None),
        (None, Seen(), EmptySide(since=NOW)),
        (None, Seen(patience=timedelta()), EmptySide(since=NOW, led_away=ROUTES)),
        (EMPTY, Seen(), EMPTY),
        (EMPTY, Seen(ready=True), None),
        (EMPTY, Seen(over=True), None),
        (EMPTY, Seen(wrong=False), EMPTY),
        (EmptySide(since=LONG_AGO), Seen(), MOVED),
        (EmptySide(since=LONG_AGO), Seen(way=""), EmptySide(since=LONG_AGO)),
        (EmptySide(), Seen(), EmptySide(since=NOW)),
        (MOVED, Seen(way=""), MOVED),
        (MOVED, Seen(ready=True), EmptySide(LONG_AGO, ROUTES, ready_again=NOW)),
        (
            EmptySide(LONG_AGO, ROUTES, ready_again=JUST_NOW),
            Seen(ready=True),
            EmptySide(LONG_AGO, ROUTES, ready_again=JUST_NOW),
        ),
        (EmptySide(LONG_AGO, ROUTES, ready_again=LONG_AGO), Seen(ready=True), None),
        (EmptySide(LONG_AGO, ROUTES, ready_again=JUST_NOW), Seen(), MOVED),
    ],
)
def test_a_share_moves_and_returns_after_a_grace_period(
    known: EmptySide | None, seen: Seen, after: EmptySide | None
) -> None:
    assert advance(known, seen, GRACE, NOW) == after


def test_the_next_look_is_at_the_end_of_the_first_wait() -> None:
    returning = EmptySide(LONG_AGO, ROUTES, ready_again=NOW)
    entries = {"new/a": EMPTY, "stable/b": returning, "new/c": MOVED}
    assert next_look(entries, GRACE, NOW) == JUST_NOW + GRACE
    assert next_look({"new/c": MOVED}, GRACE, NOW) is None


def test_a_side_gives_its_share_to_the_other_revision() -> None:
    assert Side(SideRevision.NEW, "web").key == "new/web"
    assert [each.other for each in SideRevision] == [SideRevision.NEW, SideRevision.STABLE]
