"""The worker under measurement, and what its processes use, children that have ended included."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.component.luaworker.process import Worker, children_of, eventually, worker

CONCURRENCY = 6  # so that eight spares wait, as the goal for memory says
SPARES = CONCURRENCY + 2
_TICK = os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def measured_worker(folder: Path, *flags: str) -> AsyncIterator[Worker]:
    """A worker with its stock of spares full."""
    async with worker(
        f"unix://{folder}/w", "--concurrency", str(CONCURRENCY), *flags, demotes=True
    ) as running:
        await stock_full(running)
        yield running


async def stock_full(running: Worker) -> None:
    """Waits until all spares are there."""
    await eventually(lambda: len(children_of(running.zygote)) >= SPARES, "a full stock")


def cpu_seconds(running: Worker) -> float:
    """CPU time of server, zygote, every child that lives and every child that was reaped."""
    ticks = 0
    for pid in (running.pid, running.zygote, *children_of(running.zygote)):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / _TICK


def memory_bytes(running: Worker) -> int:
    """Memory of all processes, shared pages counted once (PSS)."""
    total = 0
    for pid in (running.pid, running.zygote, *children_of(running.zygote)):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    return total
