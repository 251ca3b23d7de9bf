"""Free pages of the heap are returned to the system once after passes, and no timer runs without passes."""

import asyncio
import subprocess
import sys

from controller.api.meta import Key
from controller.app.heap import REST_SECONDS, HeapAtRest
from tests.component.runtime.virtual_time import virtual_time

KEY = Key("shop", "web")
PROGRAM = """
from pathlib import Path
from controller.app.heap import give_back

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

blocks = [bytes(16_000) for _ in range(2_000)]
del blocks[:-1]
before = resident()
give_back()
assert before - resident() > 20_000_000, "the pages below a block that stays went back"
"""


@virtual_time
async def test_pages_go_back_once_after_passes_that_follow_each_other() -> None:
    loop = asyncio.get_running_loop()
    rests: list[float] = []
    heap = HeapAtRest(lambda: rests.append(loop.time()))

    async def reconcile(key: Key) -> str:
        await asyncio.sleep(REST_SECONDS - 1)
        return key.name

    noticed = heap.after(reconcile)
    for _ in range(3):
        assert await noticed(KEY) == "web"
    ended = loop.time()
    await asyncio.sleep(10 * REST_SECONDS)
    assert rests == [ended + REST_SECONDS]
    assert heap._timer is None
    await noticed(KEY)
    await asyncio.sleep(10 * REST_SECONDS)
    assert len(rests) == 2


def test_pages_below_a_block_that_stays_go_back() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=120)
