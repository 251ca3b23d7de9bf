"""Runs a loop beside a block of code, so that neither goes on without the other.

Why it exists: the failure of a task that nobody awaits is not seen before the end of the process. Invariant: if the
loop ends, by a failure or by itself, the block is cancelled and the failure is raised; a failure of the block keeps its
type. It must not decide what a failure means.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable


@contextlib.asynccontextmanager
async def beside(work: Callable[[], Awaitable[None]], name: str) -> AsyncIterator[None]:
    """Run `work`, which lasts until it is cancelled, for as long as the block."""
    problem: Exception | None = None
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_lasting(work, name), name=name)
        try:
            yield
        except Exception as failure:
            problem = failure
        task.cancel()
    if problem is not None:
        raise problem


async def _lasting(work: Callable[[], Awaitable[None]], name: str) -> None:
    await work()
    raise RuntimeError(f"{name} ended by itself")
