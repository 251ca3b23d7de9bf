"""A gate played over the past judges as it would have judged then."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from controller.api.analysis import Analysis, Bounds, Comparison, Metric, ValueRule, Verdict
from controller.domain.gates.replay import Past, begins_of, periods, replay, samples_of
from controller.domain.gates.watching import Asked

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
UNTIL = SINCE + timedelta(hours=10)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def metric(**fields: object) -> Metric:
    return Metric(**{"name": "errors", "success": ValueRule(max=0.01), "interval": "1m"} | fields)  # type: ignore[arg-type]  # fields of one struct


def asked(one: Metric) -> tuple[Asked, ...]:
    return (Asked(one, one, one if one.compare else None),)


def points(value: Callable[[int], float]) -> tuple[tuple[datetime, float], ...]:
    """One a minute of the whole range."""
    return tuple((SINCE + place * MINUTE, value(place)) for place in range(601))


def bad_from_3_to_4(place: int) -> float:
    return 0.5 if 180 <= place < 240 else 0.001


def past(value: Callable[[int], float]) -> dict[str, Past]:
    return {"errors": Past(MINUTE, points(value))}


HOURLY = tuple(SINCE + number * HOUR for number in range(10))


def test_a_release_that_began_in_the_bad_hour_is_stopped_and_no_other() -> None:
    found = replay(
        Analysis(),
        asked(metric(count=5, failure_limit=1)),
        past(bad_from_3_to_4),
        HOURLY,
        UNTIL,
        HOUR,
        background=False,
    )
    assert [one.at for one in found if one.stopped] == [SINCE + 3 * HOUR]
    (stop,) = periods(found)
    assert (stop.first, stop.last, stop.times) == (SINCE + 3 * HOUR, SINCE + 3 * HOUR, 1)
    assert stop.verdict is Verdict.FAILED
    assert "0.5 is above 0.01 (2 of 2 measurements failed)" in stop.message
    passed = [one for one in found if not one.stopped]
    assert {one.verdict for one in passed} == {Verdict.PASSED}
    assert passed[0].ended == SINCE + 4 * MINUTE


def test_neighbours_are_one_period() -> None:
    begins = tuple(SINCE + 3 * HOUR + number * 10 * MINUTE for number in range(-1, 8))
    found = replay(
        Analysis(), asked(metric()), past(bad_from_3_to_4), begins, UNTIL, HOUR, background=False
    )
    (stop,) = periods(found)
    assert stop.times == 6
    assert stop.last - stop.first == 50 * MINUTE


def test_a_gate_in_the_background_watches_as_long_as_the_release_lasts() -> None:
    found = replay(
        Analysis(),
        asked(metric()),
        past(bad_from_3_to_4),
        HOURLY,
        UNTIL,
        2 * HOUR,
        background=True,
    )
    # begun at 1, 2 and 3 o'clock the release meets the bad hour; the one at 9 would not be over by now
    assert [one.at for one in found if one.stopped] == [SINCE + n * HOUR for n in (1, 2, 3)]
    assert [one.at for one in found] == list(HOURLY[:9])
    assert {one.verdict for one in found if not one.stopped} == {Verdict.RUNNING}


def test_without_values_a_step_waits() -> None:
    found = replay(
        Analysis(),
        asked(metric(interval="5m")),
        {"errors": Past(MINUTE)},
        HOURLY[:2],
        UNTIL,
        HOUR,
        background=False,
    )
    assert [one.verdict for one in found] == [Verdict.RUNNING, Verdict.RUNNING]
    assert "no value for the new revision" in found[0].message
    assert periods(found) == ()


def test_a_deadline_makes_a_gate_that_waits_inconclusive() -> None:
    found = replay(
        Analysis(deadline_seconds=600),
        asked(metric()),
        {"errors": Past(MINUTE)},
        HOURLY[:1],
        UNTIL,
        HOUR,
        background=False,
    )
    assert found[0].stopped
    assert found[0].ended == SINCE + 10 * MINUTE


@pytest.mark.parametrize("fields", [{"count": 5}, {"consecutive_success": 5}])
def test_a_long_gate_is_waited_for(fields: dict[str, int]) -> None:
    found = replay(
        Analysis(),
        asked(metric(**fields, interval="30m", initial_delay="10m")),
        past(lambda _: 0.0),
        HOURLY[:1],
        UNTIL,
        MINUTE,
        background=False,
    )
    assert found[0].ended == SINCE + timedelta(minutes=10 + 4 * 30)


def test_a_gap_holds_no_value_of_before() -> None:
    early = tuple(point for point in points(lambda _: 0.0) if point[0] <= SINCE + HOUR)
    found = replay(
        Analysis(),
        asked(metric()),
        {"errors": Past(MINUTE, early)},
        (SINCE + HOUR, SINCE + HOUR + MINUTE, SINCE + HOUR + 2 * MINUTE),
        UNTIL,
        HOUR,
        background=False,
    )
    assert [one.verdict for one in found] == [Verdict.PASSED, Verdict.PASSED, Verdict.RUNNING]


def test_the_stable_revision_and_the_number_of_requests_are_of_the_same_time() -> None:
    compared = metric(success=None, compare=Comparison(ratio=Bounds(max=2)), min_samples=100)
    known = {
        "errors": Past(
            MINUTE,
            points(lambda _: 0.3),
            points(bad_from_3_to_4),
            points(lambda place: 50.0 if place < 120 else 500.0),
        )
    }
    found = replay(
        Analysis(), asked(compared), known, HOURLY[:9], UNTIL, 30 * MINUTE, background=False
    )
    verdicts = [one.verdict for one in found]
    assert verdicts[:3] == [Verdict.RUNNING, Verdict.RUNNING, Verdict.FAILED]
    assert verdicts[3] is Verdict.PASSED
    assert "needs 50 more requests" in found[0].message


def test_an_interval_of_nothing_ends_all_the_same() -> None:
    found = replay(
        Analysis(),
        asked(metric(interval="", count=3)),
        past(lambda _: 0.0),
        HOURLY[:1],
        UNTIL,
        HOUR,
        background=False,
    )
    assert (found[0].verdict, found[0].ended) == (Verdict.PASSED, SINCE + timedelta(seconds=2))


def test_begins_are_whole_minutes_apart_and_not_too_many() -> None:
    assert begins_of(SINCE, SINCE + 10 * MINUTE, 400) == tuple(
        SINCE + place * MINUTE for place in range(10)
    )
    week = begins_of(SINCE, SINCE + timedelta(days=7), 400)
    assert week[1] - week[0] == 26 * MINUTE
    assert len(week) == 388


def test_samples_are_the_scarcer_of_both_revisions() -> None:
    new, stable = points(lambda _: 5.0)[:2], ((SINCE, 3.0),)
    assert samples_of(new, stable) == ((SINCE, 3.0),)
