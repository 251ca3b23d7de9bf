"""Verdicts come from counts: not from the order of measurements, and never from missing ones."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from controller.api.analysis import Analysis, Metric, MetricRun, OnInconclusive, ValueRule, Verdict
from controller.domain.gates.judging import MAX_CHARACTERS, counted, gate_verdict, next_due
from controller.domain.gates.measurement import Measurement

NOW = datetime(2026, 1, 1, tzinfo=UTC)
METRIC = Metric(
    name="errors",
    success=ValueRule(max=1),
    failure=ValueRule(min=5),
    count=4,
    failure_limit=1,
    inconclusive_limit=1,
    consecutive_error_limit=2,
    interval="1m",
    initial_delay="30s",
)
GOOD, BAD, UNCLEAR, NONE = 0.5, 9.0, 3.0, None


def after(*values: float | str | None, metric: Metric = METRIC, endless: bool = False) -> MetricRun:
    """The run after these values, a minute apart; a text is an error. It ends at its verdict."""
    run = MetricRun(name=metric.name)
    for minute, value in enumerate(values):
        at = NOW + timedelta(minutes=minute)
        one = (
            Measurement(at, error=value) if isinstance(value, str) else Measurement(at, value=value)
        )
        if run.verdict == Verdict.RUNNING:
            run = counted(metric, run, one, endless=endless)
    return run


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((GOOD,), Verdict.RUNNING),
        ((GOOD,) * 4, Verdict.PASSED),
        ((GOOD, BAD, GOOD, GOOD), Verdict.PASSED),
        ((BAD, BAD), Verdict.FAILED),
        ((BAD, GOOD, BAD), Verdict.FAILED),
        ((UNCLEAR, GOOD, UNCLEAR), Verdict.INCONCLUSIVE),
        ((UNCLEAR, GOOD, GOOD, GOOD), Verdict.PASSED),
        (("down",) * 2, Verdict.RUNNING),
        (("down",) * 3, Verdict.INCONCLUSIVE),
        (("down", "down", GOOD, "down", "down"), Verdict.RUNNING),
        ((NONE,) * 20, Verdict.RUNNING),
        ((NONE, GOOD) * 4, Verdict.PASSED),
    ],
)
def test_limits_have_their_documented_effect(
    values: tuple[float | str | None, ...], verdict: Verdict
) -> None:
    assert after(*values).verdict == verdict


def test_a_failed_metric_reports_its_last_value_and_the_number_of_failures() -> None:
    assert after(BAD, GOOD, BAD).reason == "9 is above 1 (2 of 3 measurements failed)"


def test_the_background_has_no_end_without_a_count() -> None:
    endless = structs.replace(METRIC, count=None)
    assert after(*[GOOD] * 50, metric=endless, endless=True).verdict == Verdict.RUNNING
    assert after(GOOD, metric=endless).verdict == Verdict.PASSED


def test_the_status_shows_few_readings_and_counts_all() -> None:
    endless = structs.replace(METRIC, count=None)
    run = after(*[GOOD] * 50, metric=endless, endless=True)
    assert (len(run.readings), run.good, run.taken) == (10, 50, 50)


def test_numbers_that_json_has_not_are_texts() -> None:
    readings = after(float("inf"), metric=structs.replace(METRIC, failure_limit=9)).readings
    assert readings[0].value == "inf"


def test_a_long_reason_is_cut() -> None:
    assert len(after("x" * 900).reason) == MAX_CHARACTERS


@given(st.permutations([GOOD, GOOD, BAD, NONE, NONE, UNCLEAR, GOOD]))
def test_the_order_of_measurements_does_not_matter(values: list[float | None]) -> None:
    run = after(*values)
    assert run.verdict == Verdict.RUNNING or (run.verdict == Verdict.PASSED and run.bad <= 1)
    whole = after(*values, metric=structs.replace(METRIC, count=5))
    assert (whole.verdict, whole.good, whole.bad) == (Verdict.PASSED, 3, 1)


@given(st.lists(st.sampled_from([GOOD, BAD, UNCLEAR, NONE, "down"]), max_size=30))
def test_no_run_passes_without_as_many_values_as_it_wants(
    values: list[float | str | None],
) -> None:
    run = after(*values)
    assert run.taken == run.good + run.bad + run.unclear + run.no_data + run.errors
    if run.verdict == Verdict.PASSED:
        assert run.good + run.bad + run.unclear == 4
        assert run.bad <= 1
        assert run.unclear <= 1


def test_measurements_are_an_interval_apart_after_the_delay() -> None:
    assert next_due(METRIC, MetricRun(), NOW) == NOW + timedelta(seconds=30)
    assert next_due(METRIC, after(GOOD), NOW) == NOW + timedelta(minutes=1)
    assert next_due(METRIC, after(BAD, BAD), NOW) is None


def test_a_length_that_is_none_counts_as_none() -> None:
    broken = structs.replace(METRIC, initial_delay="soon")
    assert next_due(broken, MetricRun(), NOW) == NOW


RUNNING = MetricRun(name="a", reason="needs 3 more requests")
PASSED = MetricRun(name="b", verdict=Verdict.PASSED)
FAILED = MetricRun(name="c", verdict=Verdict.FAILED, reason="too many")
UNSURE = MetricRun(name="d", verdict=Verdict.INCONCLUSIVE, reason="errors")


@pytest.mark.parametrize(
    ("runs", "expected", "verdict", "says"),
    [
        ((RUNNING, PASSED), "pause", Verdict.RUNNING, "a: needs 3 more requests"),
        ((MetricRun(name="e"),), "pause", Verdict.RUNNING, "e: not measured yet"),
        ((PASSED, PASSED), "pause", Verdict.PASSED, "2 of 2 metrics passed"),
        ((RUNNING, UNSURE, FAILED), "pass", Verdict.FAILED, "metric c: too many"),
        ((UNSURE, PASSED), "pause", Verdict.INCONCLUSIVE, "metric d: errors"),
        ((UNSURE, PASSED), "pass", Verdict.PASSED, "2 of 2 metrics passed"),
        ((UNSURE, PASSED), "fail", Verdict.FAILED, "metric d: errors"),
        (
            (structs.replace(FAILED, dry_run=True),),
            "pause",
            Verdict.PASSED,
            "0 of 0 metrics passed",
        ),
    ],
)
def test_a_gate_is_as_good_as_its_worst_metric(
    runs: tuple[MetricRun, ...], expected: str, verdict: Verdict, says: str
) -> None:
    analysis = Analysis(on_inconclusive=OnInconclusive(expected))
    assert gate_verdict(analysis, runs) == (verdict, says)


# --- good measurements in a row -----------------------------------------------------------------

ROW = structs.replace(METRIC, count=None, consecutive_success=3, failure_limit=5)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((GOOD, GOOD), Verdict.RUNNING),
        ((GOOD, GOOD, GOOD), Verdict.PASSED),
        ((GOOD, GOOD, BAD, GOOD, GOOD), Verdict.RUNNING),
        ((GOOD, BAD, GOOD, GOOD, GOOD), Verdict.PASSED),
        ((GOOD, GOOD, UNCLEAR, GOOD), Verdict.RUNNING),
        ((GOOD, GOOD, "down", GOOD), Verdict.RUNNING),
        ((GOOD, GOOD, NONE, NONE, GOOD), Verdict.PASSED),
        ((BAD,) * 6, Verdict.FAILED),
        (("down",) * 3, Verdict.INCONCLUSIVE),
    ],
)
@pytest.mark.parametrize("endless", [False, True])
def test_a_row_of_good_measurements_passes_a_metric(
    values: tuple[float | str | None, ...], verdict: Verdict, endless: bool
) -> None:
    assert after(*values, metric=ROW, endless=endless).verdict == verdict


def test_a_row_is_reported_while_it_grows_and_when_it_is_complete() -> None:
    assert after(GOOD, metric=ROW).reason.endswith("(1 of 3 good ones in a row)")
    assert after(GOOD, BAD, metric=ROW).reason.endswith("(0 of 3 good ones in a row)")
    assert after(*[GOOD] * 3, metric=ROW).reason.endswith("(3 good measurements in a row)")


def test_a_count_ends_the_wait_for_a_row() -> None:
    limited = structs.replace(ROW, count=4)
    assert after(BAD, GOOD, GOOD, GOOD, metric=limited).verdict == Verdict.PASSED
    ended = after(GOOD, BAD, GOOD, GOOD, metric=limited)
    assert ended.verdict == Verdict.INCONCLUSIVE
    assert ended.reason.endswith("(never 3 good ones in a row in 4 measurements)")


@given(st.lists(st.sampled_from([GOOD, BAD, UNCLEAR, NONE, "down"]), max_size=30))
def test_no_run_passes_without_a_row(values: list[float | str | None]) -> None:
    run = after(*values, metric=ROW)
    counting = [value for value in values if value is not NONE]
    has_row = any(counting[at : at + 3] == [GOOD] * 3 for at in range(len(counting)))
    assert run.verdict != Verdict.PASSED or (has_row and run.consecutive_good == 3)
