"""One measurement, and its result: good, bad, unclear, no data, or an error.

Invariant: pure and total, for every float: NaN is no data (Prometheus answers 0/0 with it), an infinite value is an
error (it answers 1/0 with it; minus infinity would pass every maximum). A ratio of two zeros is 1: a revision without
errors is no worse than another one without errors.
"""

import math
from datetime import datetime

from controller.api.analysis import Bounds, Metric, NoData, Reading
from controller.domain.decision import Value


class Measurement(Value, frozen=True):
    """The answer of a provider at `at`: the new revision's value, and, for a comparison, the stable revision's.

    None is no data. `samples` is the number of requests behind the value with fewer requests, if it was asked for.
    `error` says why there is no answer. `words` are the source's own text about the value, if it has one. `missing`
    says why a page has no value.
    """

    at: datetime
    value: float | None = None
    stable: float | None = None
    samples: float | None = None
    query: str = ""
    error: str = ""
    words: str = ""
    missing: str = ""


class Finding(Value, frozen=True):
    """The verdict of a measurement, with the reason in words."""

    reading: Reading
    reason: str


def read(metric: Metric, measured: Measurement) -> Finding:
    """The result of `measured` for `metric`."""
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
        if value is not None and math.isinf(value):
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


def _is_missing(value: float | None) -> bool:
    return value is None or math.isnan(value)


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
    value = measured.value or 0.0
    wrong = _broken(metric, value, measured.stable)
    if not wrong:
        return Finding(Reading.GOOD, measured.words or f"{shown(value)} is within its bounds")
    if metric.failure is None or _outside(metric.failure, value) == "":
        return Finding(Reading.BAD, measured.words or wrong)
    return Finding(Reading.UNCLEAR, f"{wrong}, and it is not within failure either")


def _broken(metric: Metric, value: float, stable: float | None) -> str:
    """The first rule that the value breaks, in words; empty if it keeps all."""
    if metric.success is not None and (out := _outside(metric.success, value)):
        return f"{shown(value)} is {out}"
    if metric.compare is None or stable is None:
        return ""
    against = f"{shown(value)} against {shown(stable)} of the stable revision"
    ratio, difference = metric.compare.ratio, metric.compare.difference
    if ratio is not None and (out := _outside(ratio, _ratio(value, stable))):
        return f"{against}: the ratio {shown(_ratio(value, stable))} is {out}"
    if difference is not None and (out := _outside(difference, _difference(value, stable))):
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


def _outside(bounds: Bounds, value: float) -> str:
    """How a value lies outside of bounds; empty if it lies within."""
    if bounds.min is not None and value < bounds.min:
        return f"below {shown(bounds.min)}"
    if bounds.max is not None and value > bounds.max:
        return f"above {shown(bounds.max)}"
    return ""


def shown(value: float) -> str:
    """A number as people read it: four significant digits, no exponent where that is short."""
    return f"{value:.4g}"
