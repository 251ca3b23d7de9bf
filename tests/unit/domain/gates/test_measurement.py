"""The verdict of one measurement: bounds, comparisons, missing values, and numbers that are none."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from controller.api.analysis import (
    Bounds,
    Comparison,
    Metric,
    MetricRun,
    NoData,
    Reading,
    ValueRule,
    Verdict,
)
from controller.domain.gates.judging import counted
from controller.domain.gates.measurement import Measurement, read

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LOW = Metric(name="errors", success=ValueRule(max=0.01))
AS_GOOD = Metric(name="p99", compare=Comparison(ratio=Bounds(max=1.2)))
NO_WORSE = Metric(name="errors", compare=Comparison(difference=Bounds(max=0.01)))


def measured(
    value: float | None, stable: float | None = None, samples: float | None = None, error: str = ""
) -> Measurement:
    return Measurement(NOW, value, stable, samples, error=error)


@pytest.mark.parametrize(
    ("metric", "value", "stable", "says"),
    [
        (LOW, 0.01, None, Reading.GOOD),
        (LOW, 0.0101, None, Reading.BAD),
        (LOW, math.nan, None, Reading.NO_DATA),
        (LOW, math.inf, None, Reading.ERROR),
        (LOW, -math.inf, None, Reading.ERROR),
        (LOW, 0.01, math.inf, Reading.GOOD),
        (Metric(name="rate", success=ValueRule(min=0.99)), 0.98, None, Reading.BAD),
        (AS_GOOD, 0.24, 0.2, Reading.GOOD),
        (AS_GOOD, 0.25, 0.2, Reading.BAD),
        (AS_GOOD, 0.0, 0.0, Reading.GOOD),
        (AS_GOOD, 0.1, 0.0, Reading.BAD),
        (AS_GOOD, -0.1, 0.0, Reading.GOOD),
        (AS_GOOD, math.inf, math.inf, Reading.ERROR),
        (AS_GOOD, 1.0, math.inf, Reading.ERROR),
        (AS_GOOD, 1.0, -math.inf, Reading.ERROR),
        (AS_GOOD, -math.inf, 1.0, Reading.ERROR),
        (AS_GOOD, 1.0, math.nan, Reading.NO_DATA),
        (NO_WORSE, 0.02, 0.015, Reading.GOOD),
        (NO_WORSE, 0.03, 0.01, Reading.BAD),
    ],
)
def test_a_value_is_good_within_its_bounds(
    metric: Metric, value: float, stable: float | None, says: Reading
) -> None:
    assert read(metric, measured(value, stable)).reading is says


@pytest.mark.parametrize(
    ("value", "says"), [(0.5, Reading.GOOD), (2.0, Reading.UNCLEAR), (6.0, Reading.BAD)]
)
def test_a_value_between_success_and_failure_is_inconclusive(value: float, says: Reading) -> None:
    metric = Metric(name="latency", success=ValueRule(max=1), failure=ValueRule(min=5))
    assert read(metric, measured(value)).reading is says


@pytest.mark.parametrize("missing", [None, math.nan])
@pytest.mark.parametrize(
    ("expected", "says"),
    [(NoData.HOLD, Reading.NO_DATA), (NoData.PASS, Reading.GOOD), (NoData.FAIL, Reading.BAD)],
)
def test_the_owner_decides_the_meaning_of_a_missing_value(
    missing: float | None, expected: NoData, says: Reading
) -> None:
    metric = Metric(name="errors", success=ValueRule(max=1), no_data=expected)
    assert read(metric, measured(missing)).reading is says
    compared = Metric(name="errors", compare=Comparison(), no_data=expected)
    assert read(compared, measured(0.5, missing)).reading is says


@pytest.mark.parametrize(
    ("samples", "needed"), [(None, 400), (math.nan, 400), (60.9, 340), (0.0, 400)]
)
def test_too_few_requests_are_counted_in_words(samples: float | None, needed: int) -> None:
    metric = Metric(name="errors", success=ValueRule(max=1), min_samples=400, no_data=NoData.FAIL)
    found = read(metric, measured(0.0, samples=samples))
    assert found.reading is Reading.NO_DATA
    assert found.reason.startswith(f"needs {needed} more requests")


def test_enough_requests_are_judged() -> None:
    metric = Metric(name="errors", success=ValueRule(max=1), min_samples=400)
    assert read(metric, measured(0.0, samples=400.0)).reading is Reading.GOOD


def test_an_error_is_neither_good_nor_bad() -> None:
    found = read(LOW, measured(0.0, error="no connection"))
    assert (found.reading, found.reason) == (Reading.ERROR, "no connection")


def test_an_infinite_value_is_named_as_prometheus_writes_it_and_whose_it_is() -> None:
    assert "-Inf for the new revision" in read(LOW, measured(-math.inf)).reason
    assert "+Inf for the stable revision" in read(AS_GOOD, measured(1.0, math.inf)).reason


@pytest.mark.parametrize("metric", [LOW, structs.replace(LOW, no_data=NoData.PASS)])
def test_no_infinite_value_passes_a_metric(metric: Metric) -> None:
    run = MetricRun(name=metric.name)
    for _ in range(metric.consecutive_error_limit + 1):
        assert run.verdict == Verdict.RUNNING
        run = counted(metric, run, measured(-math.inf), endless=False)
    assert (run.verdict, run.good) == (Verdict.INCONCLUSIVE, 0)


@pytest.mark.parametrize("samples", [math.inf, -math.inf, math.nan])
def test_an_impossible_number_of_requests_counts_as_none(samples: float) -> None:
    found = read(structs.replace(LOW, min_samples=5), measured(0.0, samples=samples))
    assert (found.reading, "needs 5 more requests" in found.reason) == (Reading.NO_DATA, True)


@given(
    value=st.none() | st.floats(),
    stable=st.none() | st.floats(),
    samples=st.none() | st.floats(),
    low=st.none() | st.floats(allow_nan=False),
    high=st.none() | st.floats(allow_nan=False),
)
def test_every_number_has_a_reading_and_nothing_without_data_is_good(
    value: float | None,
    stable: float | None,
    samples: float | None,
    low: float | None,
    high: float | None,
) -> None:
    bounds = ValueRule(min=low, max=high)
    metric = Metric(
        name="any",
        success=bounds,
        compare=Comparison(bounds, bounds),
        failure=bounds,
        min_samples=1,
    )
    found = read(metric, measured(value, stable, samples))
    assert found.reason
    if value is None or math.isnan(value):
        assert found.reading is Reading.NO_DATA


def test_a_missing_value_is_explained_by_the_page_if_it_can() -> None:
    metric = Metric(name="errors")
    assert "no value for the new revision" in read(metric, Measurement(at=NOW)).reason
    found = read(
        metric, Measurement(at=NOW, missing="the page has no a: there is no a in the page,")
    )
    assert found.reason.startswith(
        "the page has no a: there is no a in the page, for the new revision"
    )
