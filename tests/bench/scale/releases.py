"""Up to a thousand releases in the same instant, and people who approve steps of others meanwhile.

Invariant: each Rollout has five steps and the same routes as in other measurements, but only two pods, because a
control plane on the same two cores spends most of its time on pods. It must not judge more than its rows say.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from localcluster.progress import Reporter
from tests.bench.conditions import Conditions
from tests.bench.figures import p50, p99
from tests.bench.fleet import Fleet, approving, change, completed, fleet, quiet, wait
from tests.bench.ground import Ground
from tests.bench.objects import Style
from tests.bench.registry import Row
from tests.bench.requests import ours_since
from tests.bench.runs import plane_seconds, sampled_memory
from tests.bench.scale.waits import Approval, approvals, delays_in_words, in_line
from tests.bench.scale.watched import Late, WatchedProduct, watched_ground

COUNTS = (25, 100, 300, 1_000)
PEOPLE = 20
REPLICAS = 2
PATIENCE_SECONDS = 900.0
RELEASE_SECONDS = 2400.0
MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class Burst:
    """The cost of a number of releases at once."""

    count: int
    seconds: float
    requests: float
    controller_cpu: float
    worker_cpu: float
    plane_cpu: float
    peak: int
    late: Late
    approvals: tuple[Approval, ...]
    waits: str
    """Where approvals waited."""
    others_percent: float


async def measure(folder: Path, reporter: Reporter, counts: tuple[int, ...] = COUNTS) -> list[Row]:
    """Every count, the smallest first."""
    async with watched_ground(folder, reporter) as ground:
        return [row for count in counts for row in _rows(await _burst(ground, count))]


async def _burst(ground: Ground, count: int) -> Burst:
    style = Style.PARTITION
    async with (
        fleet(
            ground, f"people-{count}", style, PEOPLE, approvals=True, replicas=REPLICAS
        ) as people,
        fleet(
            ground, f"many-{count}", style, count, replicas=REPLICAS, patience=PATIENCE_SECONDS
        ) as many,
    ):
        return await _measured(ground, people, many)


async def _measured(ground: Ground, people: Fleet, many: Fleet) -> Burst:
    product, log = ground.product, ground.plane.audit
    assert isinstance(product, WatchedProduct)
    loop = asyncio.get_running_loop()
    mark, cursor, conditions = product.mark(), log.mark(), Conditions.now()
    line = await in_line(ground)
    controller, worker = product.controller.resource_use(), product.worker.resource_use()
    plane, begun = plane_seconds(ground), loop.time()
    async with sampled_memory(ground) as samples, approving(ground, people.namespace):
        with ground.reporter.phase(f"{many.namespace}: release"):
            await asyncio.gather(change(ground, people), change(ground, many))
            await wait(ground, many.keys, completed, RELEASE_SECONDS)
            seconds = loop.time() - begun
            await wait(ground, people.keys, completed, RELEASE_SECONDS)
    others = Conditions.now().others_percent(conditions)
    await quiet(ground, many.namespace)
    count = len(many.names) + len(people.names)
    waited = tuple(approvals(ground, cursor, people.namespace))
    after = product.controller.resource_use(), product.worker.resource_use()
    return Burst(
        count=len(many.names),
        seconds=seconds,
        requests=len(ours_since(log, cursor)) / count,
        controller_cpu=(after[0].cpu_seconds - controller.cpu_seconds) / count,
        worker_cpu=(after[1].cpu_seconds - worker.cpu_seconds) / count,
        plane_cpu=(plane_seconds(ground) - plane) / count,
        peak=max(samples),
        late=product.late(mark),
        approvals=waited,
        waits=delays_in_words(waited, line, await in_line(ground)),
        others_percent=others,
    )


def _rows(burst: Burst) -> Iterator[Row]:
    at_once, waited = f"{burst.count} releases at once", [one.written for one in burst.approvals]
    cpu = burst.controller_cpu + burst.worker_cpu
    took = (
        f"all done after {burst.seconds:.0f} s; others used {burst.others_percent:.0f} % of the CPU"
    )
    parts = (
        f"controller {burst.controller_cpu:.3f} s, worker {burst.worker_cpu:.3f} s; "
        f"the control plane {burst.plane_cpu:.2f} s"
    )
    approvals = (
        f"p50 {p50(waited):.3f} s, longest {max(waited):.2f} s; "
        f"{len(waited)} approvals of {PEOPLE} other Rollouts; {burst.waits}"
    )
    yield Row(f"{at_once}: requests of each", "-", 70, burst.requests, "", took)
    yield Row(f"{at_once}: CPU of each", "-", 0.35, cpu, "s", parts)
    yield Row(f"{at_once}: memory, highest", "-", 600, burst.peak / MEGABYTE, "MB")
    yield Row(f"{at_once}: event loop late, p99", "-", 50, burst.late.own, "ms", str(burst.late))
    yield Row(f"{at_once}: approval to our first write, p99", "-", 1, p99(waited), "s", approvals)
