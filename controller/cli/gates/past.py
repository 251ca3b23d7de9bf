"""Plays a gate over the past: the values that Prometheus still has, and the gate's verdicts about them.

Invariant: reads only; `controller.domain.gates.replay`, the controller's own code, gives the verdicts.
"""

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec

from controller.api.analysis import PrometheusQuery, Verdict
from controller.api.duration import parse_duration
from controller.cli.failures import Failure
from controller.cli.gates.given import BACKGROUND, Gate
from controller.cli.gates.own_sources import Sources
from controller.cli.gates.trying import queries
from controller.cli.views.view import View
from controller.domain.gates.judging import SHORTEST_INTERVAL
from controller.domain.gates.replay import (
    Begun,
    Past,
    begins_of,
    periods,
    replay,
    samples_of,
)
from controller.domain.gates.watching import Asked
from controller.outbound import prometheus
from controller.outbound.fetching import Failed

MAX_RELEASES = 400
MOST_VALUES = 20_000
"""The past of one query."""


class Span(msgspec.Struct, frozen=True):
    """The range that is played; `lasts` is how long a release takes."""

    since: datetime
    until: datetime
    lasts: timedelta


class StopView(View, frozen=True):
    """Neighbouring releases that would have been stopped."""

    first: datetime
    last: datetime
    releases: int
    verdict: Verdict
    message: str


class GateReplayed(View, frozen=True):
    """The verdicts that the gate would have given; `waiting` counts releases that had no verdict in time."""

    gate: str
    since: datetime
    until: datetime
    releases: int = 0
    passed: int = 0
    stopped: int = 0
    waiting: int = 0
    waits_for: str = ""
    stops: tuple[StopView, ...] = ()
    problem: str = ""


class Replayed(View, frozen=True):
    """All gates that were played, for programs."""

    gates: tuple[GateReplayed, ...]


def span_of(length: timedelta, lasts: timedelta) -> Span:
    """The range that ends now, at whole seconds."""
    until = datetime.now(UTC).replace(microsecond=0)
    return Span(until - length, until, lasts)


async def played(
    sources: Sources, namespace: str, gate: Gate, asked: tuple[Asked, ...], span: Span
) -> GateReplayed:
    """The gate over the range; a problem if a query has no history."""
    view = GateReplayed(gate.named, span.since, span.until)
    for one in asked:
        if not queries(one):
            why = f"metric {one.metric.name} has no past: only PromQL can be played again"
            return msgspec.structs.replace(view, problem=why)
    try:
        pasts = await asyncio.gather(*(_past(sources, namespace, one, span) for one in asked))
    except Failed as failed:
        return msgspec.structs.replace(view, problem=str(failed))
    past = {one.metric.name: found for one, found in zip(asked, pasts, strict=True)}
    begins = begins_of(span.since, span.until, MAX_RELEASES)
    background = gate.step == BACKGROUND
    begun = await asyncio.to_thread(
        replay,
        *(gate.analysis, asked, past, begins, span.until, span.lasts),
        background=background,
    )
    return _view(view, begun, background)


def _view(view: GateReplayed, begun: tuple[Begun, ...], background: bool) -> GateReplayed:
    waiting = [] if background else [one for one in begun if one.verdict is Verdict.RUNNING]
    stopped = sum(one.stopped for one in begun)
    return msgspec.structs.replace(
        view,
        releases=len(begun),
        passed=len(begun) - stopped - len(waiting),
        stopped=stopped,
        waiting=len(waiting),
        waits_for=waiting[0].message if waiting else "",
        stops=tuple(
            StopView(one.first, one.last, one.times, one.verdict, one.message)
            for one in periods(begun)
        ),
    )


async def _past(sources: Sources, namespace: str, one: Asked, span: Span) -> Past:
    interval = parse_duration(one.metric.interval)
    if interval is None:
        raise Failure(f"metric {one.metric.name}: {one.metric.interval} is no length of time")
    coarsest = timedelta(seconds=-(-(span.until - span.since).total_seconds() // MOST_VALUES))
    step = max(interval, coarsest, SHORTEST_INTERVAL)

    async def values(asked: PrometheusQuery, query: str) -> tuple[tuple[datetime, float], ...]:
        wanted = (span.since, span.until)
        return await prometheus.ask_range(
            sources.fetching, namespace, asked, query, "", wanted, step
        )

    sides = [query for _, query in queries(one)]
    found = [await values(query, query.query) for query in sides]
    samples: tuple[tuple[datetime, float], ...] = ()
    if one.metric.min_samples and sides[0].samples:
        counts = [await values(query, query.samples) for query in sides]
        samples = samples_of(counts[0], counts[-1])
    return Past(step, found[0], found[-1] if len(found) > 1 else (), samples)
