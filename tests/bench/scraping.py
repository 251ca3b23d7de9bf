"""`python -m tests.bench.scraping [ROLLOUTS]`: how long a page of this number of Rollouts takes, and how long it
blocks the event loop.

Why it exists: rendering in a thread shares the interpreter's lock with the event loop, so it can still delay the
loop. It needs no control plane. A turn of the loop lasts as long as the clock says, or as the processor time of this
process says if that is less: other processes on the machine can delay the clock's time.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

import aiohttp
from msgspec import structs

from controller.api.meta import OwnerReference
from controller.telemetry.health import HealthServer
from controller.telemetry.metrics import Metrics
from controller.telemetry.state.collector import Seen
from tests.unit.builders import KEY, make_pod
from tests.unit.domain.rollout.scenes import started

TICK = 0.001
PODS = 5


def many(count: int) -> Callable[[], Seen]:
    """Copies of one release at its first step, each with pods of its own."""
    world = started(watched=False)
    model = world.cluster.rollouts[KEY]
    rollouts, pods = [], []
    for number in range(count):
        name = f"web-{number}"
        meta = structs.replace(model.metadata, name=name, uid=name)
        ref = structs.replace(model.spec.workload_ref, kind="StatefulSet", name=name)
        spec = structs.replace(model.spec, workload_ref=ref)
        rollouts.append(structs.replace(model, metadata=meta, spec=spec))
        owner = OwnerReference("apps/v1", "StatefulSet", name, name, controller=True)
        pod = make_pod("pod")
        owned = structs.replace(pod.metadata, namespace=KEY.namespace, owner_references=(owner,))
        pods += [structs.replace(pod, metadata=owned)] * PODS
    held, kept = tuple(rollouts), tuple(pods)
    return lambda: Seen(datetime.now(UTC), tuple(held), (), (), (), tuple(kept))


async def longest_stall(stalls: list[float]) -> None:
    """Record how much longer than a tick each turn of the loop takes."""
    while True:
        clock, used = time.perf_counter(), time.process_time()
        await asyncio.sleep(TICK)
        stalls.append(
            min(time.perf_counter() - clock, time.process_time() - used) - TICK,
        )


async def measure(count: int) -> None:
    """Scrape a page and print what it cost."""
    metrics = Metrics()
    metrics.state.lead(many(count))
    # As the process does when its caches are filled.
    gc.collect()
    gc.freeze()
    server = HealthServer("0", "127.0.0.1:0", metrics)
    serving = asyncio.create_task(server.run())
    await server.listening.wait()
    stalls: list[float] = []
    watching = asyncio.create_task(longest_stall(stalls))
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        for _ in range(3):
            stalls.clear()
            begun = time.perf_counter()
            async with session.get(f"http://127.0.0.1:{server.ports['metrics']}/metrics") as answer:
                size = len(await answer.read())
            took = time.perf_counter() - begun
            worst = sorted(stalls)
            print(
                f"{count} Rollouts: {took:.2f} s, {size / 1e6:.2f} MB; the loop stood "
                f"{worst[-1] * 1000:.1f} ms at most, {worst[len(worst) * 99 // 100] * 1000:.1f} ms in 99 of 100 turns"
            )
    for task in (watching, serving):
        task.cancel()
    await asyncio.gather(watching, serving, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
