"""Counts how often a gate would have stopped a release, from values that a metric source still has.

Invariant: pure, and without verdicts of its own: `look` judges a release that begins at a point of the past, with the
value that each query had at the time of each measurement. A release is left out if the values end before it would,
because its end is unknown.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from math import ceil

from controller.api.analysis import Analysis, AnalysisRun, Metric, Verdict
from controller.api.duration import parse_duration
from controller.domain.decision import Measure, Value
from controller.domain.gates.judging import SHORTEST_INTERVAL
from controller.domain.gates.measurement import Measurement
from controller.domain.gates.watching import Answer, Asked, look

INTERVALS_WITHOUT_DATA = 2
"""A release counts as waiting after this multiple of the shortest possible gate."""

Points = Sequence[tuple[datetime, float]]
"""Values of a query in the order of time."""


class Past(Value, frozen=True):
    """The values of one metric: of the new revision, of the stable one, and the numbers of requests behind them.

    A value is valid from its point for `step`.
    """

    step: timedelta
    new: tuple[tuple[datetime, float], ...] = ()
    stable: tuple[tuple[datetime, float], ...] = ()
    samples: tuple[tuple[datetime, float], ...] = ()


class Begun(Value, frozen=True):
    """The outcome of a release that began at `at`; a release without an outcome still waits at `ended`."""

    at: datetime
    ended: datetime
    verdict: Verdict
    message: str

    @property
    def stopped(self) -> bool:
        """The gate failed, or was inconclusive."""
        return self.verdict in (Verdict.FAILED, Verdict.INCONCLUSIVE)


class Period(Value, frozen=True):
    """Neighbouring releases that were stopped: when the first and the last of them began, and why the first was."""

    first: datetime
    last: datetime
    times: int
    verdict: Verdict
    message: str


def replay(
    analysis: Analysis,
    asked: tuple[Asked, ...],
    past: Mapping[str, Past],
    begins: Sequence[datetime],
    until: datetime,
    lasts: timedelta,
    *,
    background: bool,
) -> tuple[Begun, ...]:
    """The outcome that a release would have had at each of `begins`; `past` is by metric and ends at `until`.

    A gate in the background ends with its release, after `lasts`.
    """
    lasts = max(lasts, INTERVALS_WITHOUT_DATA * _shortest(asked)) if not background else lasts
    played = (_played(analysis, asked, past, at, at + lasts, until, background) for at in begins)
    return tuple(begun for begun in played if begun is not None)


def periods(begun: Sequence[Begun]) -> tuple[Period, ...]:
    """The releases that were stopped, neighbours together."""
    found: list[Period] = []
    for (stopped, verdict), group in groupby(begun, key=lambda one: (one.stopped, one.verdict)):
        ones = list(group)
        if stopped:
            found.append(Period(ones[0].at, ones[-1].at, len(ones), verdict, ones[0].message))
    return tuple(found)


def _played(
    analysis: Analysis,
    asked: tuple[Asked, ...],
    past: Mapping[str, Past],
    at: datetime,
    over: datetime,
    until: datetime,
    background: bool,
) -> Begun | None:
    run = AnalysisRun(step=0 if background else 1, started_at=at)
    now = at
    while now <= min(over, until):
        looked = look(analysis, run, asked, (), now)
        answers = tuple(_answer(measure, past, now) for measure in looked.actions)
        if answers:
            looked = look(analysis, looked.run, asked, answers, now)
        run = looked.run
        if run.verdict != Verdict.RUNNING:
            return Begun(at, now, Verdict(run.verdict), run.message)
        now = max(looked.due or now, now + SHORTEST_INTERVAL)
    return Begun(at, over, Verdict.RUNNING, run.message) if over <= until else None


def _answer(measure: Measure, past: Mapping[str, Past], now: datetime) -> Answer:
    known = past[measure.metric.name]
    measured = Measurement(
        at=now,
        value=_at(known.new, known.step, now),
        stable=_at(known.stable, known.step, now),
        samples=_at(known.samples, known.step, now),
    )
    return Answer(measure.gate, measure.metric.name, measure.number, measured)


def _at(points: Points, step: timedelta, now: datetime) -> float | None:
    place = bisect_right(points, now, key=lambda point: point[0])
    if place == 0 or now - points[place - 1][0] > step:
        return None
    return points[place - 1][1]


def _shortest(asked: tuple[Asked, ...]) -> timedelta:
    """How long the gate takes at least."""
    return max((_length(one.metric) for one in asked), default=timedelta())


def _length(metric: Metric) -> timedelta:
    between = parse_duration(metric.interval) or timedelta()
    return (parse_duration(metric.initial_delay) or timedelta()) + max(
        metric.count or 1, metric.consecutive_success
    ) * between


def begins_of(since: datetime, until: datetime, most: int) -> tuple[datetime, ...]:
    """At most `most` points of a range, equally far apart by whole minutes."""
    minutes = max(1, ceil((until - since) / timedelta(minutes=1) / most))
    every = timedelta(minutes=minutes)
    return tuple(since + number * every for number in range(ceil((until - since) / every)))


def samples_of(new: Points, stable: Points) -> tuple[tuple[datetime, float], ...]:
    """The scarcer of two counts of requests at each point that both have."""
    other = dict(stable)
    return tuple((at, min(value, other[at])) for at, value in new if at in other)
