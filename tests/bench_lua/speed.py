"""Requests per core, p50 and p99 of the three ways to run a script, for a small and a large object.

The blocks of the three take turns, so that a busy machine is equally busy for all of them.
"""

import asyncio
import time
from dataclasses import dataclass

from controller.scripts.lookup import Script
from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.bench_lua import inprocess
from tests.bench_lua.documents import PACKAGED, UNTRUSTED, document
from tests.bench_lua.figures import Figures, Goal
from tests.bench_lua.processes import cpu_seconds, stock_full
from tests.component.luaworker.process import Worker

_ROUNDS = 6
_NOTHING = Figures((), 0.0)


@dataclass(frozen=True, slots=True)
class Speed:
    """The three ways, on one size of object."""

    label: str
    in_process: Figures
    recycled: Figures
    single_use: Figures


async def _block(running: Worker, script: Script, object_json: bytes, calls: int) -> Figures:
    request = pb.ExecuteRequest(
        script=script.text, object_json=object_json, script_name="vs", tenant="bench",
        limits=pb.Limits(),
        modules=[pb.Module(name=m.name, text=m.text, hidden=m.hidden) for m in script.modules],
    )  # fmt: skip
    stub = running.stub
    for _ in range(2):
        answer = await stub.Execute(request)
        assert answer.code == pb.OK, answer.message
    await stock_full(running)
    seconds = []
    cpu = cpu_seconds(running)
    for _ in range(calls):
        began = time.perf_counter()
        answer = await stub.Execute(request)
        seconds.append(time.perf_counter() - began)
        assert answer.code == pb.OK, answer.message
    await stock_full(running)
    return Figures(tuple(seconds), cpu_seconds(running) - cpu)


async def measure(running: Worker, label: str, size: int, calls: int) -> Speed:
    """All three, in turns."""
    obj = document(size)
    each = max(1, calls // _ROUNDS)
    in_process = recycled = single_use = _NOTHING
    for _ in range(_ROUNDS):
        in_process += await asyncio.to_thread(inprocess.measure, PACKAGED, obj, each)
        recycled += await _block(running, PACKAGED, obj, each)
        single_use += await _block(running, UNTRUSTED, obj, each)
    return Speed(label, in_process, recycled, single_use)


def goals(small: Speed, large: Speed) -> list[Goal]:
    """Ratios to unprotected lupa are gates; absolute figures depend on the machine and are reported."""
    base = small.in_process.cpu_per_call
    return [
        Goal("single-use, 5 KB: time / in-process", small.single_use.cpu_per_call / base, 3, "x", fails_beyond=3),
        Goal("recycled, 5 KB: time / in-process", small.recycled.cpu_per_call / base, 1.5, "x", fails_beyond=1.5),
        Goal("single-use, 5 KB: requests/s per core", small.single_use.per_core, 200, "/s", at_most=False),
        Goal("single-use, 5 KB: p50", small.single_use.percentile(0.5) * 1000, 5, "ms"),
        Goal("single-use, 200 KB: requests/s per core", large.single_use.per_core, 25, "/s", at_most=False),
        Goal("recycled, 5 KB: requests/s per core", small.recycled.per_core, 550, "/s", at_most=False),
        Goal("recycled, 5 KB: p50", small.recycled.percentile(0.5) * 1000, 2, "ms"),
    ]  # fmt: skip
