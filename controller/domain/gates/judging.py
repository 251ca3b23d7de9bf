"""The verdict on a metric, from counts of its measurements; and on a gate, from its metrics.

Invariant: pure. A verdict depends on the counts of results, not on their order, except for errors in a row and, where a
metric asks for it, good measurements in a row. Counts are never lost: they are in the Rollout's status, so a restart or
another leader continues with them. A measurement with an error never passes a metric; one without data does so only
under `noData: pass`.
"""

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import assert_never

from msgspec import structs

from controller.api.analysis import (
    Analysis,
    AnalysisRun,
    Metric,
    MetricRecord,
    MetricRun,
    OnInconclusive,
    Reading,
    ReadingSeen,
    Verdict,
)
from controller.api.duration import parse_duration
from controller.domain.gates.measurement import Measurement, in_numbers, read
from controller.domain.gates.value_rules import known_text, shown

MAX_READINGS = 10
"""Measurements of a metric that the status shows; the counts know of all."""
READINGS_OF_A_RECORD = 3
DATA_COMES_WITHIN = timedelta(minutes=10)
"""A metric that has had no data for longer since its first measurement is reported."""
SHORTEST_INTERVAL = timedelta(seconds=1)
"""Each measurement is a request, a pass and a status: an interval of `0s` would cause them without end."""
MAX_CHARACTERS = 300
"""Characters of a reason or a query in the status."""


def counted(metric: Metric, run: MetricRun, measured: Measurement, *, endless: bool) -> MetricRun:
    """`run` with one more measurement; `endless` for the background gate, which only the end of the release ends."""
    measured = in_numbers(metric, measured)
    found = read(metric, measured)
    tally = structs.replace(
        run,
        query=_short(measured.query or run.query),
        taken=run.taken + 1,
        good=run.good + (found.reading is Reading.GOOD),
        consecutive_good=_good_in_a_row(run, found.reading),
        bad=run.bad + (found.reading is Reading.BAD),
        unclear=run.unclear + (found.reading is Reading.UNCLEAR),
        no_data=run.no_data + (found.reading is Reading.NO_DATA),
        errors=run.errors + (found.reading is Reading.ERROR),
        consecutive_errors=run.consecutive_errors + 1 if found.reading is Reading.ERROR else 0,
        last_at=measured.at,
        readings=(*run.readings, _seen(metric, measured, found.reading))[-MAX_READINGS:],
    )
    verdict, why = judge(metric, tally, endless=endless)
    reason = f"{found.reason} ({why})" if why else found.reason
    return structs.replace(tally, verdict=verdict, reason=_short(reason))


def judge(metric: Metric, run: MetricRun, *, endless: bool) -> tuple[Verdict, str]:
    """The verdict that the counts give, and why in words; no words while it is running, except for a row that is not
    complete.
    """
    if run.bad > metric.failure_limit:
        return Verdict.FAILED, f"{run.bad} of {run.taken} measurements failed"
    if run.consecutive_errors > metric.consecutive_error_limit:
        return Verdict.INCONCLUSIVE, f"{run.consecutive_errors} errors in a row"
    if run.unclear > metric.inconclusive_limit:
        return Verdict.INCONCLUSIVE, f"{run.unclear} measurements were inconclusive"
    if metric.consecutive_success:
        return _judged_in_a_row(metric, run)
    wanted = metric.count if metric.count is not None else (None if endless else 1)
    if wanted is not None and run.good + run.bad + run.unclear >= wanted:
        return Verdict.PASSED, f"{run.good} of {wanted} measurements were good"
    return Verdict.RUNNING, ""


def _judged_in_a_row(metric: Metric, run: MetricRun) -> tuple[Verdict, str]:
    """Passed with enough good measurements in a row; `count` ends the wait for them."""
    wanted, taken = metric.consecutive_success, run.good + run.bad + run.unclear
    if run.consecutive_good >= wanted:
        return Verdict.PASSED, f"{run.consecutive_good} good measurements in a row"
    if metric.count is not None and taken >= metric.count:
        return Verdict.INCONCLUSIVE, f"never {wanted} good ones in a row in {taken} measurements"
    return Verdict.RUNNING, f"{run.consecutive_good} of {wanted} good ones in a row"


def _good_in_a_row(run: MetricRun, reading: Reading) -> int:
    """A measurement without data does not count, so it ends no row."""
    match reading:
        case Reading.GOOD:
            return run.consecutive_good + 1
        case Reading.NO_DATA:
            return run.consecutive_good
        case Reading.BAD | Reading.UNCLEAR | Reading.ERROR:
            return 0
        case other:
            assert_never(other)


def lacks_data(metric: Metric, run: MetricRun, started: datetime, now: datetime) -> bool:
    """The metric waits for `DATA_COMES_WITHIN` already, and no measurement that the status shows had data."""
    waits = run.verdict == Verdict.RUNNING and not run.dry_run
    empty = {seen.reading for seen in run.readings} == {Reading.NO_DATA}
    return waits and empty and _first_due(metric, started) + DATA_COMES_WITHIN <= now


def next_due(metric: Metric, run: MetricRun, started: datetime) -> datetime | None:
    """When to measure next; None if the metric has its verdict."""
    if run.verdict != Verdict.RUNNING:
        return None
    if run.last_at is None:
        return _first_due(metric, started)
    return run.last_at + max(_length(metric.interval), SHORTEST_INTERVAL)


def _first_due(metric: Metric, started: datetime) -> datetime:
    return started + _length(metric.initial_delay)


def gate_verdict(analysis: Analysis, runs: Iterable[MetricRun]) -> tuple[Verdict, str]:
    """The verdict on a gate, and the words of the metric that decided it. A dry run decides nothing.

    Failed where one metric failed; else inconclusive where one is, by `onInconclusive`; passed when all have passed.
    """
    deciding = [run for run in runs if not run.dry_run]
    verdicts = [(as_configured(analysis, Verdict(run.verdict)), run) for run in deciding]
    for wanted in (Verdict.FAILED, Verdict.INCONCLUSIVE):
        for verdict, run in verdicts:
            if verdict is wanted:
                return wanted, f"metric {run.name}: {run.reason}"
    waiting = [run for verdict, run in verdicts if verdict is Verdict.RUNNING]
    if waiting:
        return Verdict.RUNNING, "; ".join(
            f"{run.name}: {run.reason or 'not measured yet'}" for run in waiting
        )
    return Verdict.PASSED, f"{len(deciding)} of {len(deciding)} metrics passed"


def as_configured(analysis: Analysis, verdict: Verdict) -> Verdict:
    """The verdict; an inconclusive one as `onInconclusive` takes it."""
    if verdict is not Verdict.INCONCLUSIVE:
        return verdict
    return {
        OnInconclusive.PAUSE: Verdict.INCONCLUSIVE,
        OnInconclusive.PASS: Verdict.PASSED,
        OnInconclusive.FAIL: Verdict.FAILED,
    }[analysis.on_inconclusive]


def _length(text: str) -> timedelta:
    """A duration that admission has checked; a text that is not a duration counts as none."""
    return parse_duration(text) or timedelta()


def _seen(metric: Metric, measured: Measurement, reading: Reading) -> ReadingSeen:
    return ReadingSeen(
        at=measured.at,
        reading=reading,
        value=for_json(known_text(metric, measured.value)),
        stable=for_json(known_text(metric, measured.stable)),
        samples=for_json(measured.samples),
    )


def for_record(run: AnalysisRun) -> tuple[MetricRecord, ...]:
    """The metrics of a gate that has ended; a release has many gates, so each metric keeps few measurements."""
    return tuple(
        MetricRecord(
            metric.name, metric.verdict, metric.reason, metric.readings[-READINGS_OF_A_RECORD:]
        )
        for metric in run.metrics
    )


def for_json(value: float | str | None) -> float | str | None:
    """Four significant digits; infinite values as text, because JSON has no number for them. A text stays as it is."""
    if value is None or isinstance(value, str):
        return value
    return float(shown(value)) if math.isfinite(value) else shown(value)


def _short(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"
