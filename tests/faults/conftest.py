"""A laboratory with faulty connections to the API server; the tests are skipped, with a clear reason, if no plane can
be started."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.proxy import FaultyProxy
from tests.kill.lanes import Laboratory
from tests.kill.lanes import laboratory as open_laboratory
from tests.planes import built_or_skipped, mark_below

HERE = Path(__file__).parent
LANES = 4


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_below(HERE, items)


@pytest.fixture(scope="module")
async def faulty(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Laboratory]:
    """Give a laboratory whose lanes have faulty proxies, open for the whole module."""
    await built_or_skipped()
    folder = tmp_path_factory.mktemp("faults")
    async with open_laboratory(folder, LANES, FaultyProxy) as opened:
        yield opened
