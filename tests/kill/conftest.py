"""A laboratory for kill tests: one plane, a product that does not lead, and controllers to kill.

The plane is built before; the tests are skipped, with a clear reason, if no plane can be started.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.kill.lanes import Laboratory
from tests.kill.lanes import laboratory as open_laboratory
from tests.planes import built_or_skipped, mark_below

HERE = Path(__file__).parent
LANES = 8
"""Cases at a time: a release waits more than it computes."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_below(HERE, items)


@pytest.fixture(scope="package")
async def laboratory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Laboratory]:
    """Give the laboratory, open for this folder."""
    await built_or_skipped()
    async with open_laboratory(tmp_path_factory.mktemp("kill"), LANES) as opened:
        yield opened
