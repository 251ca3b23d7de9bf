"""Texts as values of a metric: what they have to be, and that no status repeats one that its author did not write."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.analysis import (
    Analysis,
    Bounds,
    Comparison,
    Metric,
    MetricRun,
    PrometheusQuery,
    Reading,
    ValueRule,
    WebQuery,
)
from controller.api.meta import ObjectMeta
from controller.domain.decision import Refusal
from controller.domain.gates.asking import asked_about
from controller.domain.gates.judging import counted
from controller.domain.gates.measurement import Measurement, read
from controller.domain.gates.value_rules import outside

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OK = ValueRule(equals="ok")
ONE_OF = ValueRule(matches="^(ok|degraded)$")
PAGE = WebQuery("http://a", value_path="status")


def metric(success: ValueRule | None = None, **fields: object) -> Metric:
    return Metric("health", web=PAGE, success=success, **fields)  # type: ignore[arg-type]  # fields of one struct


def measured(value: float | str | None, stable: float | str | None = None) -> Measurement:
    return Measurement(NOW, value, stable)


@pytest.mark.parametrize(
    ("success", "value", "says", "why"),
    [
        (OK, "ok", Reading.GOOD, 'the text is "ok"'),
        (OK, "OK", Reading.BAD, 'a text of 2 characters is not "ok"'),
        (OK, "", Reading.BAD, 'a text of 0 characters is not "ok"'),
        (OK, 1.0, Reading.BAD, "1 is not ok"),
        (ValueRule(equals="3"), 3.0, Reading.GOOD, "the value is 3"),
        (ValueRule(equals="3.00"), 3.0, Reading.GOOD, "the value is 3.00"),
        (ValueRule(equals="3"), 3.00001, Reading.BAD, "3.00001 is not 3"),
        (ValueRule(equals="3"), "3", Reading.GOOD, 'the text is "3"'),
        (ValueRule(equals="3"), "3.0", Reading.BAD, 'a text of 3 characters is not "3"'),
        (ONE_OF, "ok", Reading.GOOD, "a text of 2 characters matches ^(ok|degraded)$"),
        (ONE_OF, "o", Reading.BAD, "a text of 1 character does not match ^(ok|degraded)$"),
        (ONE_OF, 200.0, Reading.ERROR, "the value is a number, and matches reads the text"),
        (ONE_OF, "x" * 1025, Reading.ERROR, "a text of 1025 characters, and matches reads 1024"),
        (ValueRule(max=0.01), "0.001", Reading.GOOD, "0.001 is within its bounds"),
        (ValueRule(max=0.01), "0.02", Reading.BAD, "0.02 is above 0.01"),
        (ValueRule(max=0.01), "NaN", Reading.NO_DATA, "the query answered no value"),
        (ValueRule(max=0.01), "-inf", Reading.ERROR, "answered -Inf"),
        (
            ValueRule(max=0.01),
            "fine",
            Reading.ERROR,
            "the value is a text of 4 characters, and success.max 0.01 compares numbers: use equals or matches",
        ),
        (ValueRule(min=1), "fine", Reading.ERROR, "success.min 1 compares numbers"),
    ],
)
def test_a_value_is_what_its_rule_says(
    success: ValueRule, value: float | str, says: Reading, why: str
) -> None:
    found = read(metric(success), measured(value))
    assert found.reading is says
    assert why in found.reason


@pytest.mark.parametrize(
    ("value", "says"),
    [("ok", Reading.GOOD), ("down", Reading.BAD), ("degraded", Reading.UNCLEAR)],
)
def test_a_text_that_is_neither_good_nor_bad_is_inconclusive(value: str, says: Reading) -> None:
    asked = metric(OK, failure=ValueRule(matches="^(down|broken)$"))
    assert read(asked, measured(value)).reading is says


def test_a_failure_with_bounds_is_for_numbers_too() -> None:
    asked = metric(OK, failure=ValueRule(min=3))
    found = read(asked, measured("ok"))
    assert found.reading is Reading.ERROR
    assert "failure.min 3 compares numbers" in found.reason


def test_no_text_lies_within_bounds() -> None:
    assert outside(ValueRule(max=1), "0") == "a text of 1 character is no number"


@pytest.mark.parametrize(
    ("new", "stable", "says"),
    [
        ("2", "1", Reading.GOOD),
        (2.0, "0.5", Reading.BAD),
        ("fast", 1.0, Reading.ERROR),
        (1.0, "fast", Reading.ERROR),
    ],
)
def test_texts_are_compared_only_as_numbers(
    new: float | str, stable: float | str, says: Reading
) -> None:
    asked = metric(compare=Comparison(ratio=Bounds(max=2)))
    assert read(asked, measured(new, stable)).reading is says


@given(st.text(min_size=3), st.sampled_from([OK, ONE_OF, ValueRule(max=1), ValueRule(min=0)]))
def test_the_status_repeats_no_text_of_a_page(text: str, success: ValueRule) -> None:
    marked = f"<secret>{text}"
    run = counted(metric(success), MetricRun("health"), measured(marked, marked), endless=False)
    assert "<secret>" not in repr(run)


def test_the_status_shows_a_text_that_its_author_has_written() -> None:
    asked = metric(OK, failure=ValueRule(equals="down"))
    values = ("ok", "down", "other")
    seen = [counted(asked, MetricRun("m"), measured(one), endless=True).readings for one in values]
    assert [one.value for (one,) in seen] == ["ok", "down", None]


def test_the_status_shows_a_text_that_is_a_number_as_one() -> None:
    run = counted(metric(ValueRule(max=1)), MetricRun("m"), measured("0.25"), endless=True)
    assert run.readings[0].value == 0.25


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (metric(ValueRule(matches="(")), "success.matches: ( cannot be used: a group is not"),
        (metric(OK, failure=ValueRule(matches="(?=x)")), "failure.matches: (?=x) cannot be used"),
        (
            Metric("m", prometheus=PrometheusQuery(query="up"), success=OK),
            "success.equals: ok is no number, and only a web page or a script answers a text",
        ),
        (
            Metric("m", prometheus=PrometheusQuery(query="up"), success=ONE_OF),
            "success.matches: matches reads the text of a web page or of a script",
        ),
    ],
)
def test_no_release_begins_with_a_rule_that_judges_nothing(asked: Metric, why: str) -> None:
    found = asked_about(Analysis(metrics=(asked,)), {}, ObjectMeta(), SIDES, {})
    assert isinstance(found, Refusal)
    assert why in found.message


SIDES = {
    f"{side}.{what}": "web" for side in ("canary", "stable") for what in ("service", "revision")
}


@pytest.mark.parametrize(
    "asked",
    [
        metric(ONE_OF),
        metric(OK, failure=ValueRule(equals="1")),
        Metric("m", prometheus=PrometheusQuery(query="up"), success=ValueRule(equals="3")),
    ],
)
def test_a_rule_that_can_judge_its_values_is_asked_for(asked: Metric) -> None:
    assert not isinstance(
        asked_about(Analysis(metrics=(asked,)), {}, ObjectMeta(), SIDES, {}), Refusal
    )
