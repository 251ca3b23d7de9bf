"""Releases on an API server with little capacity: they succeed, and every rule holds.

The limits are the server's own: few requests at a time, so that priority and fairness lets the others wait or refuses
them, and watches that end after seconds. Nothing stands between the controller and the server.
"""

from collections.abc import AsyncIterator

import pytest
import yaml

from demo.stage import GATEWAY_KINDS, Product
from localcluster.plane import Plane
from localcluster.record import Recorder
from localcluster.startup import APISERVER
from tests.cluster import manifests
from tests.cluster.conftest import kept_running
from tests.cluster.in_turn.conftest import recordable
from tests.cluster.kinds import RECORDED
from tests.cluster.secrecy import kept_product
from tests.cluster.table import Row, application, goes_through, is_rolled_back, started
from tests.cluster.together import Together

pytestmark = pytest.mark.full
"""A plane with other flags is a plane of its own: part of `make test-full`."""

LITTLE_ROOM = {
    APISERVER: (
        "--max-requests-inflight=8",
        "--max-mutating-requests-inflight=4",
        "--min-request-timeout=5",
    )
}

TABLE = {
    f"{style}: {disturbance.__name__.replace('_', ' ')}": Row(app, disturbance, 2)
    for style, app in {
        "canary": application("Deployment", canary=True),
        "partition": application("Deployment"),
        "blue-green": application("Deployment", blue_green=True),
        "StatefulSet": application("StatefulSet"),
    }.items()
    for disturbance in (goes_through, is_rolled_back)
}


@pytest.fixture(scope="module")
async def struggling(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Product]:
    """Give Moonshift on a plane with little room."""
    folder = tmp_path_factory.mktemp("struggling")
    async with Plane.start(folder / "plane", extra_flags=LITTLE_ROOM) as plane:
        await plane.kubectl("apply", "--server-side", "-f", str(GATEWAY_KINDS))
        await plane.apply(yaml.safe_dump_all(manifests.nodes()))
        async with kept_product(plane, folder) as running, kept_running(running.controller):
            yield running


@pytest.fixture(scope="module")
async def watching(struggling: Product) -> AsyncIterator[Recorder]:
    """Give a recording of everything that releases touch."""
    await recordable(struggling.plane)
    async with struggling.plane.recorder(*RECORDED) as started_recorder:
        yield started_recorder


@pytest.fixture(scope="module")
async def table(
    request: pytest.FixtureRequest, struggling: Product, watching: Recorder
) -> Together:
    """Give the rows, running at the same time."""
    return started(request, TABLE, struggling, watching)


@pytest.mark.parametrize("title", TABLE)
async def test_releases_end_well_where_the_api_server_has_little_room(
    title: str, table: Together
) -> None:
    await table.result(title)
