from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.component.luaworker.process import Worker, worker


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def script_worker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worker]:
    """The real worker: packaged scripts are tested through the boundary that production uses."""
    folder = tmp_path_factory.mktemp("scripts")
    async with worker(f"unix://{folder}/w") as running:
        yield running
