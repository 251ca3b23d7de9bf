"""Measurements in progress and their answers: a pass asks, the answer arrives in the background, a later pass reads it.

Why not in the pass: a metric source that hangs would delay other Rollouts. Invariant: at most one
measurement in progress for a metric of a gate, and one answer kept; equal queries in progress are one request. Nothing
here outlives the process: counted answers are in the status of the Rollout, all others are asked for again.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import msgspec

from controller.api.analysis import Metric, PrometheusQuery
from controller.api.meta import Key
from controller.domain.decision import Measure
from controller.domain.gates.jobs import job_name
from controller.domain.gates.measurement import Measurement
from controller.domain.gates.watching import Answer
from controller.outbound import prometheus, source, web
from controller.outbound.exchanging import Exchanging
from controller.outbound.fetching import Failed, Fetching
from controller.outbound.job import Jobs

Place = tuple[str, str]
"""The step of a gate, and the name of a metric."""
T = TypeVar("T")
_log = logging.getLogger(__name__)


class Measuring:
    """All measurements of one process."""

    def __init__(
        self,
        fetching: Fetching,
        wake: Callable[[Key], None],
        now: Callable[[], datetime],
        default_address: str = "",
        jobs: Jobs | None = None,
        exchanging: Exchanging | None = None,
    ) -> None:
        """Without `jobs` a metric that is a Job is an error, and without `exchanging` one that a script asks."""
        self._exchanging = exchanging
        self._fetching = fetching
        self._wake = wake
        self._now = now
        self._default = default_address
        self._jobs = jobs
        self._dropping: set[asyncio.Task[None]] = set()
        self._answers: dict[Key, dict[Place, Answer]] = {}
        self._under_way: dict[tuple[Key, Place], tuple[Measure, asyncio.Task[None]]] = {}
        self._shared: dict[tuple[str, PrometheusQuery, str], asyncio.Task[float | None]] = {}

    def ask(self, key: Key, asked: Measure) -> None:
        """Measure, unless that is under way or answered already."""
        place = _place(asked)
        known = self._answers.get(key, {}).get(place)
        if known is not None and (known.gate, known.number) == (asked.gate, asked.number):
            return
        going = self._under_way.get((key, place))
        if going is not None:
            if (going[0].gate, going[0].number) == (asked.gate, asked.number):
                return
            self._abandon(key, *going)
        task = asyncio.create_task(
            self._measure(key, asked), name=f"measure {key} {asked.metric.name}"
        )
        self._under_way[key, place] = (asked, task)

    def answers(self, key: Key) -> tuple[Answer, ...]:
        """The answers for the gates of a Rollout."""
        return tuple(self._answers.get(key, {}).values())

    def forget(self, key: Key) -> None:
        """The Rollout is gone, or measures nothing any more."""
        self._answers.pop(key, None)
        for (owner, place), going in tuple(self._under_way.items()):
            if owner == key:
                del self._under_way[owner, place]
                self._abandon(key, *going)

    async def aclose(self) -> None:
        """End every measurement that is under way."""
        tasks: list[asyncio.Task[Any]] = [task for _, task in self._under_way.values()]
        tasks += [*self._shared.values(), *self._dropping]
        self._under_way.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._fetching.aclose()

    def _abandon(self, key: Key, asked: Measure, task: asyncio.Task[None]) -> None:
        """No gate waits for this measurement any more; its Job is deleted."""
        task.cancel()
        if self._jobs is None or asked.metric.job is None:
            return
        dropping = asyncio.create_task(self._drop(key, asked, task), name=f"drop the Job of {key}")
        self._dropping.add(dropping)
        dropping.add_done_callback(self._dropping.discard)

    async def _drop(self, key: Key, asked: Measure, task: asyncio.Task[None]) -> None:
        """Only when no task can create the Job any more."""
        await asyncio.wait((task,))
        if self._jobs is not None:
            await self._jobs.drop(key, asked)

    async def _measure(self, key: Key, asked: Measure) -> None:
        measured = await self.measured(key, asked)
        place = _place(asked)
        answer = Answer(asked.gate, asked.metric.name, asked.number, measured)
        self._answers.setdefault(key, {})[place] = answer
        self._under_way.pop((key, place), None)
        self._wake(key)

    async def measured(self, key: Key, asked: Measure) -> Measurement:
        """Measure now and return the answer. Raises nothing."""
        query = self._query_of(key, asked)
        try:
            if asked.metric.job is not None:
                return await self._job(key, asked, query)
            if asked.metric.source is not None:
                return await self._by_script(key, asked)
            new, stable = await _both(
                self._side(key.namespace, asked.metric),
                self._side(key.namespace, asked.stable) if asked.stable is not None else _nothing(),
            )
        except Failed as failed:
            return Measurement(at=self._now(), query=query, error=str(failed))
        except Exception as unexpected:
            _log.exception("a measurement failed", extra={"metric": asked.metric.name})
            return Measurement(at=self._now(), query=query, error=type(_first(unexpected)).__name__)
        samples = [found for found in (new.samples, stable.samples) if found is not None]
        return Measurement(
            at=self._now(),
            value=new.value,
            stable=stable.value,
            samples=min(samples, default=None),
            query=query,
            missing=new.missing or stable.missing,
        )

    async def _job(self, key: Key, asked: Measure, query: str) -> Measurement:
        if self._jobs is None:
            raise Failed("a Job is run by the controller only")
        ran = await self._jobs.run(key, asked)
        value = 1.0 if ran.succeeded else 0.0
        return Measurement(at=self._now(), value=value, query=query, words=ran.words)

    async def _by_script(self, key: Key, asked: Measure) -> Measurement:
        if self._exchanging is None:
            raise Failed("a script is run by the controller only")
        call = partial(source.call_of, key, asked, self._exchanging.time())
        new, stable = await _both(
            source.ask(self._exchanging, call(asked.metric, "canary")),
            source.nothing()
            if asked.stable is None
            else source.ask(self._exchanging, call(asked.stable, "stable")),
        )
        return source.measurement(self._now(), asked, new, stable)

    async def _side(self, namespace: str, metric: Metric) -> web.Page:
        """The value and the number of samples of one revision."""
        if metric.web is not None:
            return await web.ask(self._fetching, namespace, metric.web)
        asked = metric.prometheus
        if asked is None:
            raise Failed("a metric needs one of prometheus, web, job, golden and source")
        samples = (
            self._shared_query(namespace, asked, asked.samples)
            if metric.min_samples and asked.samples
            else _none()
        )
        return web.Page(*await _both(self._shared_query(namespace, asked, asked.query), samples))

    @staticmethod
    def _query_of(key: Key, asked: Measure) -> str:
        """The request recorded in the status."""
        metric = asked.metric
        if metric.job is not None:
            return f"Job {job_name(key, asked)}"
        if metric.source is not None:
            return f"source {metric.source.script}"
        if metric.prometheus is not None:
            return metric.prometheus.query
        return web.shown(metric.web) if metric.web is not None else ""

    async def _shared_query(
        self, namespace: str, asked: PrometheusQuery, query: str
    ) -> float | None:
        """One request for all that ask the same at the same time."""
        what = (namespace, msgspec.structs.replace(asked, query="", samples=""), query)
        task = self._shared.get(what)
        if task is None:
            task = asyncio.create_task(
                prometheus.ask(self._fetching, namespace, asked, query, self._default)
            )
            self._shared[what] = task
            task.add_done_callback(lambda _: self._shared.pop(what, None))
        return await asyncio.shield(task)


async def _both(first: Coroutine[Any, Any, T], second: Coroutine[Any, Any, T]) -> tuple[T, T]:
    """The results of both, measured at the same time; the first failure ends the other."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = group.create_task(first), group.create_task(second)
    except* Failed as failures:
        raise _first(failures) from None
    return tasks[0].result(), tasks[1].result()


def _first(failure: BaseException) -> BaseException:
    """The failure itself, not the group that it came in."""
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure


async def _nothing() -> web.Page:
    return web.Page(None, None)


async def _none() -> float | None:
    return None


def _place(asked: Measure) -> Place:
    return asked.gate.partition("@")[0], asked.metric.name
