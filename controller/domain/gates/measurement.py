"""One measurement, and its result: good, bad, unclear, no data, or an error.

Invariant: pure and total, for every float and every text: a text is judged as a number where a rule compares numbers,
and is an error if it is none. NaN is no data (Prometheus answers 0/0 with it), an infinite value is an
error (it answers 1/0 with it; minus infinity would pass every maximum). A ratio of two zeros is 1: a revision without
errors is no worse than another one without errors.
"""

import math
from datetime import datetime

from msgspec import structs

from controller.api.analysis import Metric, NoData, Reading
from controller.domain.decision import Value
from controller.domain.gates.value_rules import (
    compared_number,
    number_in,
    out_of_bounds,
    outside,
    shown,
    told,
    unreadable,
    within,
)


class Measurement(Value, frozen=True):
    """The answer of a provider at `at`: the new revision's value, and, for a comparison, the stable revision's.

    None is no data. `samples` is the number of requests behind the value with fewer requests, if it was asked for.
    `error` says why there is no answer. `words` are the source's own text about the value, if it has one. `missing`
    says why a page has no value.
    """

    at: datetime
    value: float | str | None = None
    stable: float | str | None = None
    samples: float | None = None
    query: str = ""
    error: str = ""
    words: str = ""
    missing: str = ""


class Finding(Value, frozen=True):
    """The verdict of a measurement, with the reason in words."""

    reading: Reading
    reason: str


def in_numbers(metric: Metric, measured: Measurement) -> Measurement:
    """The measurement with numbers in the place of texts, if the metric compares numbers; with an error for any other
    text.
    """
    by = compared_number(metric)
    values = (measured.value, measured.stable)
    if not by or not any(isinstance(value, str) for value in values):
        return measured
    found = [number_in(value) if isinstance(value, str) else value for value in values]
    for value, number in zip(values, found, strict=True):
        if isinstance(value, str) and number is None:
            error = f"the value is {told(value)}, and {by} compares numbers: use equals or matches"
            return structs.replace(measured, value=None, stable=None, error=error)
    return structs.replace(measured, value=found[0], stable=found[1])


def read(metric: Metric, measured: Measurement) -> Finding:
    """The result of `measured` for `metric`."""
    measured = in_numbers(metric, measured)
    if measured.error:
        return Finding(Reading.ERROR, measured.error)
    if infinite := _infinite(metric, measured):
        return Finding(Reading.ERROR, infinite)
    if metric.min_samples:
        too_few = _too_few(metric.min_samples, measured.samples)
        if too_few:
            return Finding(Reading.NO_DATA, too_few)
    if _is_missing(measured.value):
        return _without_data(metric, _nothing_for("new", measured))
    if metric.compare is not None and _is_missing(measured.stable):
        return _without_data(metric, _nothing_for("stable", measured))
    return _judged(metric, measured)


def _infinite(metric: Metric, measured: Measurement) -> str:
    """The first infinite value that would be judged, in words; empty if there is none."""
    stable = measured.stable if metric.compare is not None else None
    for whose, value in (("new", measured.value), ("stable", stable)):
        if value is not None and not isinstance(value, str) and math.isinf(value):
            sign = "+" if value > 0 else "-"
            return (
                f"the query answered {sign}Inf for the {whose} revision, which says neither good nor bad: correct "
                "a division by zero"
            )
    return ""


def _too_few(wanted: int, samples: float | None) -> str:
    known = samples if samples is not None and math.isfinite(samples) else 0.0
    counted = math.floor(max(0.0, min(known, wanted)))
    missing = wanted - counted
    return f"needs {missing} more requests: {counted} of {wanted} so far" if missing > 0 else ""


def _is_missing(value: float | str | None) -> bool:
    return value is None or (not isinstance(value, str) and math.isnan(value))


def _nothing_for(revision: str, measured: Measurement) -> str:
    return f"{measured.missing or 'the query answered no value'} for the {revision} revision"


def _without_data(metric: Metric, why: str) -> Finding:
    reading = {
        NoData.HOLD: Reading.NO_DATA,
        NoData.PASS: Reading.GOOD,
        NoData.FAIL: Reading.BAD,
    }[metric.no_data]
    return Finding(reading, f"{why}; noData: {metric.no_data}")


def _judged(metric: Metric, measured: Measurement) -> Finding:
    value = 0.0 if measured.value is None else measured.value
    if why := unreadable(metric, value):
        return Finding(Reading.ERROR, why)
    wrong = _broken(metric, value, measured.stable)
    if not wrong:
        return Finding(Reading.GOOD, measured.words or _kept(metric, value))
    failure = metric.failure
    if failure is None or outside(failure, value) == "":
        return Finding(Reading.BAD, measured.words or wrong)
    has_bounds = failure.min is not None or failure.max is not None
    also = "it is not within failure" if has_bounds else "failure does not describe it"
    return Finding(Reading.UNCLEAR, f"{wrong}, and {also} either")


def _kept(metric: Metric, value: float | str) -> str:
    if metric.success is not None:
        return within(metric.success, value)
    return f"{told(value)} is within its bounds"


def _broken(metric: Metric, value: float | str, stable: float | str | None) -> str:
    """The first rule that the value breaks, in words; empty if it keeps all."""
    if metric.success is not None and (out := outside(metric.success, value)):
        return out
    if (
        metric.compare is None
        or stable is None
        or isinstance(value, str)
        or isinstance(stable, str)
    ):
        return ""
    against = f"{shown(value)} against {shown(stable)} of the stable revision"
    ratio, difference = metric.compare.ratio, metric.compare.difference
    if ratio is not None and (out := out_of_bounds(ratio, _ratio(value, stable))):
        return f"{against}: the ratio {shown(_ratio(value, stable))} is {out}"
    if difference is not None and (out := out_of_bounds(difference, _difference(value, stable))):
        return f"{against}: the difference {shown(_difference(value, stable))} is {out}"
    return ""


def _ratio(value: float, stable: float) -> float:
    if value == stable:
        return 1.0
    if stable == 0:
        return math.copysign(math.inf, value)
    return value / stable


def _difference(value: float, stable: float) -> float:
    return 0.0 if value == stable else value - stable
