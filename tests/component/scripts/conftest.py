from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.component.luaworker.process import Worker, worker


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_worker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worker]:
    """One worker for the client's tests that leave it alone."""
    folder = tmp_path_factory.mktemp("client")
    async with worker(f"unix://{folder}/w", "--cpu-ms", "100") as running:
        yield running
