"""Measurements go on beside passes: one for each metric, one request for equal queries, one wake for each answer."""

import asyncio
from datetime import UTC, datetime

from aiohttp import web

from controller.api.analysis import JobQuery, Metric, PrometheusQuery, WebQuery
from controller.api.meta import Key
from controller.domain.decision import Measure
from controller.outbound.fetching import Fetching
from controller.outbound.job import FinishedJob
from controller.outbound.measuring import Measuring
from tests.component.outbound.pages import Pages, fetching, json_page, served, vector

KEY, OTHER = Key("shop", "web"), Key("shop", "other")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Woken:
    """The keys that were woken, in order."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Key] = asyncio.Queue()

    def __call__(self, key: Key) -> None:
        self.queue.put_nowait(key)


def started(client: Fetching, pages: Pages) -> tuple[Measuring, Woken]:
    woken = Woken()
    return Measuring(client, woken, lambda: NOW, pages.address), woken


def metric(query: str = "up", **options: object) -> Metric:
    return Metric(name="errors", prometheus=PrometheusQuery(query=query, **options))  # type: ignore[arg-type] # fields


async def test_an_answer_wakes_its_rollout_and_is_reported_once() -> None:
    async with served(vector("0.5")) as pages, fetching(pages.address) as client:
        measuring, woken = started(client, pages)
        asked = Measure("1@x", 1, metric())
        measuring.ask(KEY, asked)
        measuring.ask(KEY, asked)
        assert await woken.queue.get() == KEY
        measuring.ask(KEY, asked)
        (answer,) = measuring.answers(KEY)
        assert (answer.gate, answer.number, answer.measured.value) == ("1@x", 1, 0.5)
        assert answer.measured.query == "up"
        assert len(pages.asked) == 1
        measuring.forget(KEY)
        assert measuring.answers(KEY) == ()
        await measuring.aclose()


async def test_equal_queries_at_the_same_time_are_one_request() -> None:
    go = asyncio.Event()

    async def later(request: web.Request) -> web.StreamResponse:
        await go.wait()
        return await vector("1")(request)

    async with served(later) as pages, fetching(pages.address) as client:
        measuring, woken = started(client, pages)
        for key in (KEY, OTHER):
            measuring.ask(key, Measure("1@x", 1, metric()))
        await pages.reached.wait()
        go.set()
        assert {await woken.queue.get(), await woken.queue.get()} == {KEY, OTHER}
        assert len(pages.asked) == 1
        await measuring.aclose()


async def test_both_revisions_and_their_samples_are_asked() -> None:
    async with served(vector("7")) as pages, fetching(pages.address) as client:
        measuring, woken = started(client, pages)
        new = Metric(
            name="errors", prometheus=PrometheusQuery(query="new", samples="n1"), min_samples=5
        )
        old = Metric(
            name="errors", prometheus=PrometheusQuery(query="old", samples="n2"), min_samples=5
        )
        measuring.ask(KEY, Measure("1@x", 1, new, old))
        await woken.queue.get()
        (answer,) = measuring.answers(KEY)
        assert (answer.measured.value, answer.measured.stable, answer.measured.samples) == (7, 7, 7)
        assert {form["query"] for _, _, form, _ in pages.asked} == {"new", "old", "n1", "n2"}
        await measuring.aclose()


async def test_a_failure_is_an_answer_in_words() -> None:
    async with served(json_page("", 503)) as pages, fetching(pages.address) as client:
        measuring, woken = started(client, pages)
        measuring.ask(KEY, Measure("1@x", 1, metric()))
        await woken.queue.get()
        assert "status 503" in measuring.answers(KEY)[0].measured.error
        measuring.ask(KEY, Measure("1@x", 2, Metric(name="errors")))
        await woken.queue.get()
        assert "needs one of" in measuring.answers(KEY)[0].measured.error
        await measuring.aclose()


async def test_a_page_is_measured() -> None:
    async with served(json_page('{"rate":0.5}')) as pages, fetching(pages.address) as client:
        measuring, woken = started(client, pages)
        page = Metric(name="errors", web=WebQuery(url=f"{pages.address}/h", value_path="rate"))
        measuring.ask(KEY, Measure("1@x", 1, page))
        await woken.queue.get()
        assert measuring.answers(KEY)[0].measured.value == 0.5
        await measuring.aclose()


async def test_the_next_number_outranks_one_that_is_under_way() -> None:
    never = asyncio.Event()

    async def hangs(_request: web.Request) -> web.StreamResponse:
        await never.wait()
        return web.Response()

    async with served(hangs, vector("2")) as pages, fetching(pages.address) as client:
        measuring, woken = started(client, pages)
        measuring.ask(KEY, Measure("1@x", 1, metric("old")))
        await pages.reached.wait()
        measuring.ask(KEY, Measure("1@y", 1, metric("new")))
        await woken.queue.get()
        assert [answer.gate for answer in measuring.answers(KEY)] == ["1@y"]
        measuring.ask(OTHER, Measure("1@x", 1, metric("slow")))
        measuring.forget(OTHER)
        assert measuring.answers(OTHER) == ()
        never.set()
        await measuring.aclose()


class Jobs:
    """Jobs that end when the test says so."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.end: asyncio.Future[FinishedJob] = asyncio.get_running_loop().create_future()
        self.dropped: asyncio.Queue[int] = asyncio.Queue()

    async def run(self, key: Key, asked: Measure) -> FinishedJob:
        """Wait for the test."""
        self.begun.set()
        return await asyncio.shield(self.end)

    async def drop(self, key: Key, asked: Measure) -> None:
        """Note it."""
        self.dropped.put_nowait(asked.number)


SMOKE = Metric(name="smoke", job=JobQuery())


async def test_a_job_is_measured_by_its_end() -> None:
    async with fetching() as client:
        jobs, woken = Jobs(), Woken()
        measuring = Measuring(client, woken, lambda: NOW, jobs=jobs)
        measuring.ask(KEY, Measure("1@x", 1, SMOKE))
        await jobs.begun.wait()
        jobs.end.set_result(FinishedJob(False, "it failed"))
        await woken.queue.get()
        measured = measuring.answers(KEY)[0].measured
        assert (measured.value, measured.words) == (0.0, "it failed")
        assert measured.query.startswith("Job web-smoke-")
        await measuring.aclose()


async def test_a_job_that_nobody_waits_for_is_taken_away_and_one_of_a_process_that_ends_stays() -> (
    None
):
    async with fetching() as client:
        jobs = Jobs()
        measuring = Measuring(client, Woken(), lambda: NOW, jobs=jobs)
        measuring.ask(KEY, Measure("1@x", 1, SMOKE))
        await jobs.begun.wait()
        measuring.ask(KEY, Measure("1@y", 2, SMOKE))
        assert await jobs.dropped.get() == 1
        measuring.forget(KEY)
        assert await jobs.dropped.get() == 2
        measuring.ask(OTHER, Measure("1@y", 3, SMOKE))
        await measuring.aclose()
        assert jobs.dropped.empty()


async def test_without_a_cluster_a_job_is_not_run() -> None:
    async with fetching() as client:
        measuring = Measuring(client, Woken(), lambda: NOW)
        measured = await measuring.measured(KEY, Measure("1@x", 1, SMOKE))
        assert measured.error == "a Job is run by the controller only"
        await measuring.aclose()
