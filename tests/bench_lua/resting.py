"""The worker's memory once nobody calls any more, after the packaged script ran for many tenants."""

import asyncio
from pathlib import Path

from luaworker.settings import MEGABYTE, Settings
from tests.bench_lua.documents import PACKAGED, document
from tests.bench_lua.figures import Goal
from tests.bench_lua.processes import memory_bytes
from tests.component.luaworker.process import children_of, eventually, worker

_TENANTS = 50
_CALLS_EACH = 6
_AT_ONCE = 8
_GOAL = 40.0


async def measure(folder: Path) -> float:
    """Megabytes of all processes, at rest."""
    at_once, obj = asyncio.Semaphore(_AT_ONCE), document(5000)
    async with worker(f"unix://{folder}/resting", "--rest-after", "0.5", rests=True) as running:

        async def release(tenant: str) -> None:
            for _ in range(_CALLS_EACH):
                async with at_once:
                    await running.run(PACKAGED, obj, tenant=tenant)

        await asyncio.gather(*(release(f"tenant-{number}") for number in range(_TENANTS)))
        left = Settings(listen="").spares_at_rest
        await eventually(lambda: len(children_of(running.zygote)) == left, "a rest")
        return memory_bytes(running) / MEGABYTE


def goals(megabytes: float) -> list[Goal]:
    """Reported only: pages that other processes of the machine share count in part."""
    return [
        Goal(f"memory at rest, after calls of {_TENANTS} tenants", megabytes, _GOAL, "MB"),
    ]
