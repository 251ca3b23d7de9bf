from collections.abc import AsyncIterator

import pytest_asyncio

from controller.cli.script_tools.engine import Engine, private_worker


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def engine() -> AsyncIterator[Engine]:
    """The private worker that the commands start, shared by tests that leave it alone."""
    async with private_worker() as running:
        yield running
