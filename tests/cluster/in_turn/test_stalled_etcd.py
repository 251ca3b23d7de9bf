"""Etcd stalls during a step until the leader has ended itself, because it cannot renew its Lease.

In that time the API server does not answer, as with a hanging disk. Then the controller is started again, as a
kubelet does, and the release ends as it would without the stall.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from demo.stage import Product
from localcluster.process import Component
from localcluster.startup import ETCD
from tests.cluster.conftest import fresh_namespace
from tests.cluster.kinds import RECORDED
from tests.cluster.manifests import Application
from tests.cluster.story import Story, conclude
from tests.cluster.table import application

STYLES = {
    "canary": application("Deployment", canary=True),
    "partition": application("Deployment"),
    "blue-green": application("Deployment", blue_green=True),
}


@asynccontextmanager
async def _stalled(component: Component) -> AsyncIterator[None]:
    await component.stop()
    try:
        yield
    finally:
        await component.cont()


@pytest.mark.parametrize(
    "app",
    [
        pytest.param(app, id=style, marks=[] if style == "canary" else pytest.mark.full)
        for style, app in STYLES.items()
    ],
)
async def test_a_release_goes_on_after_etcd_has_stalled_in_the_midst_of_a_step(
    app: Application, alone: Product
) -> None:
    plane = alone.plane
    async with fresh_namespace(plane) as namespace, plane.recorder(*RECORDED) as recorder:
        story = Story(plane, recorder, replace(app, namespace=namespace), plainly=True)
        await story.begin()
        await story.paused_at(1)
        await story.approve(1)
        async with _stalled(plane.components[ETCD]):
            await alone.controller.ended()
        await alone.controller.start()
        await story.approve_all(2)
        await conclude(story)
