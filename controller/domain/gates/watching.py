"""One look at a gate: counts new answers, asks for the measurements that are due, and returns the gate's state.

Invariant: pure. Each measurement has a number; an answer counts only if it has the next number, so an answer that comes
twice, or that an earlier leader asked for, counts once. Two equal questions at the same time are one request
(`controller.outbound`). Metrics are known by name: one that a template gains during a gate is measured too.
"""

from collections.abc import Mapping
from datetime import datetime

from msgspec import structs

from controller.api.analysis import Analysis, AnalysisRun, Metric, MetricRun, Verdict
from controller.api.duration import later, of_seconds
from controller.domain.decision import Measure, Value
from controller.domain.gates.judging import (
    as_configured,
    counted,
    gate_verdict,
    lacks_data,
    next_due,
)
from controller.domain.gates.measurement import Measurement


class Answer(Value, frozen=True):
    """A measurement that was asked for: of which gate and metric, and which number it has."""

    gate: str
    metric: str
    number: int
    measured: Measurement


class Asked(Value, frozen=True):
    """A metric with its bounds, its question about the new revision, and its question about the stable one."""

    metric: Metric
    new: Metric
    stable: Metric | None
    words: Mapping[str, str] = {}
    """Of the release, for a script that asks; empty for all other metrics."""


class Look(Value, frozen=True):
    """The present state of a gate; `due` is the time of the next look if nothing happens before.

    `without_data` are the metrics that have waited for data for too long.
    """

    run: AnalysisRun
    actions: tuple[Measure, ...] = ()
    due: datetime | None = None
    without_data: tuple[str, ...] = ()


def gate_name(run: AnalysisRun) -> str:
    """The name that answers carry: another start of the same gate has another name."""
    began = run.started_at.isoformat() if run.started_at is not None else ""
    return f"{run.step}@{began}"


def look(
    analysis: Analysis,
    run: AnalysisRun,
    asked: tuple[Asked, ...],
    answers: tuple[Answer, ...],
    now: datetime,
) -> Look:
    """`run` with the answers counted, and the next questions."""
    started, gate = run.started_at or now, gate_name(run)
    ends = _deadline(analysis, run, started)
    known = {found.name: found for found in run.metrics}
    metrics: list[MetricRun] = []
    actions: list[Measure] = []
    times: list[datetime] = []
    for one in asked:
        found = known.get(one.metric.name, MetricRun(name=one.metric.name))
        found = structs.replace(found, dry_run=one.metric.dry_run)
        found = _with_answer(one, found, answers, gate, endless=run.step == 0)
        metrics.append(found)
        due = next_due(one.metric, found, started)
        if due is None:
            continue
        if due > now:
            times.append(due)
        else:
            actions.append(Measure(gate, found.taken + 1, one.new, one.stable, ends, one.words))
    run = structs.replace(run, metrics=tuple(metrics))
    verdict, message = gate_verdict(analysis, metrics)
    if verdict is Verdict.RUNNING and ends is not None:
        times.append(ends)
        if ends <= now:
            verdict = as_configured(analysis, Verdict.INCONCLUSIVE)
            message = f"no verdict within {analysis.deadline_seconds} s: {message}"
    if verdict is not Verdict.RUNNING:
        done = structs.replace(
            run, verdict=verdict, message=message, finished_at=run.finished_at or now
        )
        return Look(done)
    run, empty = structs.replace(run, message=message), _without_data(asked, metrics, started, now)
    return Look(run, tuple(actions), min(times, default=None), empty)


def _without_data(
    asked: tuple[Asked, ...], runs: list[MetricRun], started: datetime, now: datetime
) -> tuple[str, ...]:
    return tuple(
        run.name
        for one, run in zip(asked, runs, strict=True)
        if lacks_data(one.metric, run, started, now)
    )


def _with_answer(
    one: Asked, run: MetricRun, answers: tuple[Answer, ...], gate: str, *, endless: bool
) -> MetricRun:
    if run.verdict != Verdict.RUNNING:
        return run
    wanted = (gate, run.name, run.taken + 1)
    for answer in answers:
        if (answer.gate, answer.metric, answer.number) == wanted:
            return counted(one.metric, run, answer.measured, endless=endless)
    return run


def _deadline(analysis: Analysis, run: AnalysisRun, started: datetime) -> datetime | None:
    """When the gate of a step ends without a verdict; the background gate lasts as long as the release."""
    if analysis.deadline_seconds is None or run.step == 0:
        return None
    return later(started, of_seconds(analysis.deadline_seconds))
