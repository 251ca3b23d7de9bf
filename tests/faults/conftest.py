"""A laboratory with faulty ways to the API server; where no plane can be had the tests are skipped, loudly."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from localcluster.build import ensure_built
from localcluster.errors import ClusterError
from localcluster.progress import SilentReporter
from tests.faults.proxy import FaultyProxy
from tests.kill.lanes import Laboratory
from tests.kill.lanes import laboratory as open_laboratory

HERE = Path(__file__).parent
LANES = 4


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("requires_plane")


@pytest.fixture(scope="module")
async def faulty(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Laboratory]:
    """Give a laboratory whose lanes have faulty proxies, open for the whole module."""
    try:
        await ensure_built(SilentReporter())
    except ClusterError as error:
        if os.environ.get("MOONSHIFT_REQUIRE_PLANE") == "1":
            raise
        pytest.skip(f"no control plane can be had: {error}")
    folder = tmp_path_factory.mktemp("faults")
    async with open_laboratory(folder, LANES, FaultyProxy) as opened:
        yield opened
