"""A laboratory for kill tests: one plane, a product that does not lead, and controllers to kill.

The plane is built before; where none can be had the tests are skipped, loudly.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from localcluster.build import ensure_built
from localcluster.errors import ClusterError
from localcluster.progress import SilentReporter
from tests.kill.lanes import Laboratory
from tests.kill.lanes import laboratory as open_laboratory

HERE = Path(__file__).parent
LANES = 4
"""Cases at a time: more gain nothing on two processors."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("requires_plane")


@pytest.fixture(scope="session")
async def laboratory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Laboratory]:
    """Give the laboratory, open for the whole run."""
    try:
        await ensure_built(SilentReporter())
    except ClusterError as error:
        if os.environ.get("MOONSHIFT_REQUIRE_PLANE") == "1":
            raise
        pytest.skip(f"no control plane can be had: {error}")
    async with open_laboratory(tmp_path_factory.mktemp("kill"), LANES) as opened:
        yield opened
