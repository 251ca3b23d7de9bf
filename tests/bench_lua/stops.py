"""How long after its limit a script is really stopped: by the count hook, by SIGPROF, by SIGALRM."""

import statistics
import time
from dataclasses import dataclass

from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.bench_lua.figures import Goal
from tests.component.luaworker.process import Worker

_TIMES = 15
_PATTERN = "return {(('a'):rep(30000)):find('.-.-.-.-b')}"
_CASES = (
    ("cpu 100 ms, a loop (count hook)", "while true do end", pb.Limits(cpu_ms=100, wall_ms=4000), 100, True),
    ("cpu 100 ms, a library call (SIGPROF)", _PATTERN, pb.Limits(cpu_ms=100, wall_ms=4000), 100, True),
    ("wall 100 ms, a library call (SIGALRM)", _PATTERN, pb.Limits(cpu_ms=4000, wall_ms=100), 100, False),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stop:
    """One kind of stop; milliseconds of the clock that its limit is about."""

    label: str
    limit: float
    median: float
    longest: float
    by_cpu: bool


async def measure(running: Worker) -> list[Stop]:
    """CPU limits are judged by the child's CPU time: on a busy machine the clock on the wall says nothing of it."""
    found = []
    for label, script, limits, limit, by_cpu in _CASES:
        spent = []
        for turn in range(_TIMES):
            began = time.perf_counter()
            answer = await running.run(
                f"{script} -- {label} {turn}", limits=limits, tenant=f"stop-{turn}"
            )
            elapsed = (time.perf_counter() - began) * 1000
            assert answer.code == pb.TIMEOUT, answer
            spent.append(answer.cpu_ms if by_cpu else elapsed)
        found.append(Stop(label, limit, statistics.median(spent), max(spent), by_cpu))
    return found


def goals(found: list[Stop]) -> list[Goal]:
    """Nothing runs longer than a quarter and 50 ms over its limit.

    Of the clock on the wall the median is judged: its longest says how long this run waited for a busy core.
    """
    goals = []
    for stop in found:
        judged, most = stop.longest if stop.by_cpu else stop.median, 1.25 * stop.limit + 50
        goals.append(Goal(f"stopped after, {stop.label}", judged, most, "ms", fails_beyond=most))
    return goals
