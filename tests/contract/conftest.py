"""One port, two implementations: each test runs against a real API server and against the one in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from controller.kube.client import KubeClient
from controller.kube.resources import CONFIG_MAPS, DEPLOYMENTS, PODS, ROLLOUTS, SERVICES
from controller.simulation.api_server.server import MemoryApi
from localcluster.plane import Plane
from tests.cluster.conftest import fresh_namespace
from tests.contract.port import Port
from tests.planes import built_or_skipped

SERVED = (CONFIG_MAPS, DEPLOYMENTS, PODS, SERVICES, ROLLOUTS)


@dataclass(frozen=True)
class Ground:
    """An API server and a namespace of the test's own on it."""

    api: Port
    namespace: str


@asynccontextmanager
async def _in_memory() -> AsyncIterator[Ground]:
    yield Ground(MemoryApi(lambda: datetime.now(UTC), served=SERVED), "contract")


@asynccontextmanager
async def _on(real: Plane) -> AsyncIterator[Ground]:
    client = await KubeClient.connect(
        kubeconfig=str(real.kubeconfig("admin")), user_agent="contract"
    )
    try:
        async with fresh_namespace(real) as namespace:
            yield Ground(client, namespace)
    finally:
        await client.aclose()


@pytest.fixture(scope="package")
async def plane(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plane]:
    """Give the real server; skip its half of the suite with a clear reason if it cannot be built."""
    await built_or_skipped()
    async with Plane.start(tmp_path_factory.mktemp("contract-plane")) as started:
        yield started


@pytest.fixture(params=["in memory", pytest.param("real", marks=pytest.mark.requires_plane)])
def real(request: pytest.FixtureRequest) -> Plane | None:
    """Give the plane of the real server, or None if the one in memory is meant."""
    if request.param == "in memory":
        return None
    found: Plane = request.getfixturevalue("plane")
    return found


@pytest.fixture
async def ground(real: Plane | None) -> AsyncIterator[Ground]:
    """Give an API server, one of each make in turn."""
    async with _in_memory() if real is None else _on(real) as found:
        yield found
