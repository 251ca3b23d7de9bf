from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.component.luaworker.process import Worker, worker


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_worker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worker]:
    """One worker for all tests that do not harm it.

    The limit of CPU time is short, for tests that exceed it; the limit of wall time is long, for busy machines."""
    folder: Path = tmp_path_factory.mktemp("worker")
    async with worker(
        f"unix://{folder}/w.sock", "--cpu-ms", "200", "--wall-ms", "8000", "--memory-mb", "32"
    ) as running:
        yield running
