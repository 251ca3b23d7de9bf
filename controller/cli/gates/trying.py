"""Measures a gate now: each metric once, by the controller's own rules, with its values of the last hour.

Invariant: only `controller.domain.gates.measurement` judges a value. A series is an addition: a missing one is reported
next to the value, and changes no verdict.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import msgspec

from controller.api.analysis import Metric, PrometheusQuery, Reading
from controller.api.meta import Key
from controller.cli.gates.own_sources import Sources
from controller.cli.views.view import View
from controller.domain.decision import Measure
from controller.domain.gates.judging import for_json
from controller.domain.gates.measurement import Finding, Measurement, in_numbers, read
from controller.domain.gates.watching import Asked
from controller.outbound import prometheus
from controller.outbound.fetching import Failed

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
A_JOB = "a Job is run by the controller only: it is not tried here"


class Side(StrEnum):
    """The revision that the values belong to."""

    NEW = "new"
    STABLE = "stable"


class SeriesView(View, frozen=True):
    """Values over the last hour, one a minute; null is no data. `problem` says why there are none."""

    side: Side
    since: datetime
    values: tuple[float | str | None, ...] = ()
    problem: str = ""


class MetricTried(View, frozen=True):
    """One metric, measured now."""

    name: str
    reading: Reading
    reason: str
    query: str = ""
    value: float | str | None = None
    stable: float | str | None = None
    samples: float | str | None = None
    series: tuple[SeriesView, ...] = ()
    dry_run: bool = False


class GateTried(View, frozen=True):
    """One gate; `problem` says why it cannot be asked."""

    gate: str
    metrics: tuple[MetricTried, ...] = ()
    problem: str = ""


async def tried(sources: Sources, namespace: str, asked: Asked) -> MetricTried:
    """The metric, measured and read."""
    if asked.metric.job is not None:
        return MetricTried(asked.metric.name, Reading.ERROR, A_JOB, dry_run=asked.metric.dry_run)
    measure = Measure("try", 1, asked.new, asked.stable)
    until = datetime.now(UTC)
    measured, *series = await asyncio.gather(
        sources.measuring.measured(Key(namespace, ""), measure),
        *(_series(sources, namespace, side, query, until) for side, query in queries(asked)),
    )
    assert isinstance(measured, Measurement)
    measured = in_numbers(asked.metric, measured)
    found: Finding = read(asked.metric, measured)
    return MetricTried(
        name=asked.metric.name,
        reading=found.reading,
        reason=found.reason,
        query=measured.query,
        value=for_json(measured.value),
        stable=for_json(measured.stable),
        samples=for_json(measured.samples),
        series=tuple(one for one in series if isinstance(one, SeriesView)),
        dry_run=asked.metric.dry_run,
    )


def queries(asked: Asked) -> tuple[tuple[Side, PrometheusQuery], ...]:
    """The queries that have a history: PromQL, of the new revision and of the stable one if it is compared."""
    sides: tuple[tuple[Side, Metric | None], ...]
    sides = ((Side.NEW, asked.new), (Side.STABLE, asked.stable))
    return tuple(
        (side, metric.prometheus)
        for side, metric in sides
        if metric is not None and metric.prometheus is not None
    )


async def _series(
    sources: Sources, namespace: str, side: Side, asked: PrometheusQuery, until: datetime
) -> SeriesView:
    since = until - HOUR
    try:
        found = await prometheus.ask_range(
            sources.fetching, namespace, asked, asked.query, "", (since, until), MINUTE
        )
    except Failed as failed:
        return SeriesView(side, since, problem=str(failed))
    known = {round((at - since) / MINUTE): value for at, value in found}
    return SeriesView(side, since, tuple(for_json(known.get(place)) for place in range(61)))


def exit_reading(gates: tuple[GateTried, ...]) -> Reading:
    """The gravest reading of all metrics that decide: an error, then a bad value, then an unclear one."""
    if any(gate.problem for gate in gates):
        return Reading.ERROR
    readings = {one.reading for gate in gates for one in gate.metrics if not one.dry_run}
    for gravest in (Reading.ERROR, Reading.BAD, Reading.NO_DATA, Reading.UNCLEAR):
        if gravest in readings:
            return gravest
    return Reading.GOOD


class Tried(msgspec.Struct, frozen=True):
    """All gates that were tried, for programs."""

    gates: tuple[GateTried, ...]
