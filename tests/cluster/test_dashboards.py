"""Every query of every panel returns data from a real Prometheus that scraped a real release."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from demo.stage import Product
from localcluster.prometheus import Prometheus, started_prometheus
from localcluster.record import Recorder
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.story import Story
from tests.monitoring.dashboards import DASHBOARDS, RATE, Query

WINDOW = "20s"
"""The window of a rate in these tests: scrapes come twice a second."""
SECONDS = 60.0


@pytest.fixture
async def prometheus(
    product: Product, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Prometheus]:
    """Give a Prometheus that scrapes both processes."""
    ports = (product.controller_metrics, product.worker_metrics)
    folder = tmp_path_factory.mktemp("dashboards-prometheus")
    async with started_prometheus(folder, [f"127.0.0.1:{port}" for port in ports]) as started:
        yield started


async def answered(prometheus: Prometheus, query: Query, app: Application) -> bool:
    """The query answers with data."""
    text = query.text.replace(RATE, WINDOW)
    text = text.replace("$namespace", app.namespace).replace("$rollout", app.name)
    return bool(await prometheus.query(text))


async def test_every_query_of_every_panel_answers(
    product: Product, recorder: Recorder, namespace_of_product: str, prometheus: Prometheus
) -> None:
    steps = (StepPlan(1, 20), StepPlan(2, 50))
    app = Application("shop", namespace_of_product, False, steps, virtual_service=True)
    story = Story(product.plane, recorder, app)
    await story.begin()
    await story.paused_at(1)
    await story.approve(1)
    await story.paused_at(2)
    open_ = {
        (dashboard.name, panel.title, query)
        for dashboard in DASHBOARDS
        for panel in dashboard.panels
        for query in panel.queries
    }
    # Two scrapes are needed for a rate.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SECONDS):
            while open_:
                open_ = {one for one in open_ if not await answered(prometheus, one[2], app)}
    assert not open_
    await story.approve(2)
    await story.completed()
