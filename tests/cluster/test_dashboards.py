"""Every query of every panel answers something, asked of a real Prometheus that scraped a real release."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from demo.stage import Product, install_gateway_kinds
from demo.stage import product as running_product
from localcluster.plane import Plane
from localcluster.prometheus import Prometheus, started_prometheus
from tests.cluster.conftest import fresh_namespace
from tests.cluster.kinds import RECORDED
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.story import Story
from tests.monitoring.dashboards import DASHBOARDS, RATE, Query

WINDOW = "20s"
"""What a rate looks back over, here: scrapes come twice a second."""
SECONDS = 60.0
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
async def scraped(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Product, Prometheus]]:
    """Give Moonshift on a plane of its own, and a Prometheus that scrapes both of its processes."""
    async with Plane.start(tmp_path_factory.mktemp("dashboards-plane")) as plane:
        await install_gateway_kinds(plane)
        async with running_product(plane, tmp_path_factory.mktemp("dashboards")) as product:
            targets = [
                f"127.0.0.1:{port}" for port in (product.controller_metrics, product.worker_metrics)
            ]
            folder = tmp_path_factory.mktemp("dashboards-prometheus")
            async with started_prometheus(folder, targets) as prometheus:
                yield product, prometheus


async def answered(prometheus: Prometheus, query: Query, app: Application) -> bool:
    """The query answers with data."""
    text = query.text.replace(RATE, WINDOW)
    text = text.replace("$namespace", app.namespace).replace("$rollout", app.name)
    return bool(await prometheus.query(text))


async def test_every_query_of_every_panel_answers(scraped: tuple[Product, Prometheus]) -> None:
    product, prometheus = scraped
    plane = product.plane
    async with fresh_namespace(plane) as namespace, plane.recorder(*RECORDED) as recorder:
        steps = (StepPlan(1, 20), StepPlan(2, 50))
        app = Application("shop", namespace, False, steps, virtual_service=True)
        story = Story(plane, recorder, app)
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
