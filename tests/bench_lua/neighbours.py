"""The effect of attacking tenants on a well-behaved one: its latency beside 0, 1, 2 and 4 of them.

The well-behaved one asks a hundred times a second (on a machine that is busy already, as often as keeps one core half
busy), whether answers come or not; the time of a refused call counts too. Each hog asks again as soon as it
was stopped, with a script that nobody has seen before, in a tenant of its own, which is the worst case for the
circuit breaker and for the share per tenant.
"""

import asyncio
import itertools
import time
from contextlib import suppress

import grpc.aio

from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.bench_lua.documents import UNTRUSTED, document
from tests.bench_lua.figures import Figures, Goal
from tests.bench_lua.processes import stock_full
from tests.component.luaworker.process import Worker

HOGS = (0, 1, 2, 4)
_RATE = 100
_BUSY = 0.5
# The last percent of them all is sixteen calls: fewer would say more of the moment than of the worker.
_ROUNDS = 8
_CALLS = 200
_LIMITS = pb.Limits(cpu_ms=200, wall_ms=400)
_BAD = (
    "while true do end",
    "return {(('a'):rep(30000)):find('.-.-.-.-b')}",
    "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end",
    "while true do pcall(function() while true do end end) end",
)


async def _hog(running: Worker, number: int) -> None:
    for turn in itertools.count():
        script = f"{_BAD[(number + turn) % len(_BAD)]} -- {number} {turn}"
        with suppress(grpc.aio.AioRpcError):
            await running.run(script, tenant=f"hog-{number}", limits=_LIMITS)


async def _ask_steadily(running: Worker, obj: bytes, rate: float) -> list[float]:
    loop = asyncio.get_running_loop()
    seconds: list[float] = []

    async def ask() -> None:
        began = time.perf_counter()
        with suppress(grpc.aio.AioRpcError):
            await running.run(UNTRUSTED, obj, tenant="good")
        seconds.append(time.perf_counter() - began)

    start = loop.time()
    async with asyncio.TaskGroup() as asking:
        for turn in range(_CALLS):
            await asyncio.sleep(max(0.0, start + turn / rate - loop.time()))
            asking.create_task(ask())
    return seconds


async def _beside(running: Worker, hogs: int, obj: bytes, rate: float) -> Figures:
    attackers = [asyncio.create_task(_hog(running, number)) for number in range(hogs)]
    try:
        await asyncio.sleep(0.5 if hogs else 0)  # until all of them are at it
        return Figures(tuple(await _ask_steadily(running, obj, rate)), 0.0)
    finally:
        for attacker in attackers:
            attacker.cancel()
        await asyncio.gather(*attackers, return_exceptions=True)
        await stock_full(running)


async def measure(running: Worker, alone: float) -> dict[int, Figures]:
    """Latency of the good tenant by number of hogs; the numbers take turns. `alone`: seconds of one call."""
    obj = document(5000)
    found = {hogs: Figures((), 0.0) for hogs in HOGS}
    rate = min(_RATE, _BUSY / alone)
    for _ in range(_ROUNDS):
        for hogs in HOGS:
            found[hogs] += await _beside(running, hogs, obj, rate)
    return found


def goals(found: dict[int, Figures]) -> list[Goal]:
    """Compared with the same machine's own p99 without hogs.

    The run fails beyond 2: other programs change this figure by a factor of two.
    """
    alone, beset = found[0].percentile(0.99), found[HOGS[-1]].percentile(0.99)
    return [
        Goal("neighbours' p99 beside 4 hogs / alone", beset / alone, 1.5, "x", fails_beyond=2),
        Goal("neighbours' p99 beside 4 hogs", beset * 1000, 50, "ms"),
    ]
