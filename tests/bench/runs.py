"""Releases of a whole fleet, with the data for several measurements.

Why it exists: makespan, requests, CPU and memory are measured in the same run. Invariant: each style is run once;
counting starts at rest and ends when the controller is quiet again. It must not judge.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from controller.kube.event_gathering import HOLD_SECONDS
from localcluster.usage import ResourceUse
from tests.bench.conditions import Conditions
from tests.bench.fleet import Fleet, approving, fleet, quiet, release
from tests.bench.ground import Ground
from tests.bench.objects import Style
from tests.bench.requests import breakdown, ours_since
from tests.bench.timeline import Approved, Span, Timeline, makespan, spans

TOGETHER = 50
APPROVED = 10
SAMPLE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Run:
    """The cost of a release of a fleet."""

    releases: tuple[Span, ...]
    requests: Mapping[str, float]
    """Per Rollout, by verb and resource."""
    controller: ResourceUse
    worker: ResourceUse
    plane_seconds: float
    """CPU of the control plane itself, which no controller can reduce."""
    others_percent: float
    """How much of the machine was used by others meanwhile."""
    peak_bytes: int
    rest_bytes: int

    @property
    def makespan(self) -> float:
        """Seconds from the first change to the last end."""
        return makespan(self.releases)

    @property
    def requests_each(self) -> float:
        """Requests per Rollout."""
        return sum(self.requests.values())

    @property
    def cpu_each(self) -> float:
        """CPU seconds per Rollout, both processes."""
        return (self.controller.cpu_seconds + self.worker.cpu_seconds) / len(self.releases)


async def automatic(ground: Ground, style: Style, count: int) -> Run:
    """The run of `count` Rollouts with five automatic steps, all at once; it takes place once."""

    async def make() -> Run:
        async with fleet(ground, f"auto-{style}-{count}", style, count) as made:
            return await _measured(ground, made)

    return await ground.once(f"automatic {style} {count}", make)


async def approved(ground: Ground, style: Style) -> tuple[Approved, ...]:
    """The run of some Rollouts whose steps a person approves; it takes place once."""

    async def make() -> tuple[Approved, ...]:
        return await approvals_of(ground, f"approve-{style}", style)

    return await ground.once(f"approved {style}", make)


async def approvals_of(ground: Ground, namespace: str, style: Style) -> tuple[Approved, ...]:
    """Release a fleet of its own, approving every step."""
    async with fleet(ground, namespace, style, APPROVED, approvals=True) as made:
        mark = ground.plane.audit.mark()
        async with approving(ground, namespace):
            with ground.reporter.phase(f"{namespace}: release, every step approved"):
                await release(ground, made)
        seen = Timeline(ground.plane.audit, mark, namespace)
        return tuple(step for name in made.names for step in seen.approved(name, style))


async def _measured(ground: Ground, made: Fleet) -> Run:
    log, product = ground.plane.audit, ground.product
    mark = log.mark()
    controller, worker = product.controller.resource_use(), product.worker.resource_use()
    plane, conditions = plane_seconds(ground), Conditions.now()
    async with sampled_memory(ground) as samples:
        with ground.reporter.phase(f"{made.namespace}: release"):
            await release(ground, made)
    others = Conditions.now().others_percent(conditions)
    # Events that are held to be combined with others are part of the cost.
    await asyncio.sleep(HOLD_SECONDS)
    await quiet(ground, made.namespace)
    after = product.controller.resource_use(), product.worker.resource_use()
    timeline = Timeline(log, mark, made.namespace)
    # Events of the earlier fleet may still be written.
    counted = [r for r in ours_since(log, mark) if r.namespace in ("", made.namespace)]
    return Run(
        releases=tuple(spans(timeline, made.names)),
        requests=breakdown(counted, len(made.names)),
        controller=_difference(after[0], controller),
        worker=_difference(after[1], worker),
        plane_seconds=plane_seconds(ground) - plane,
        others_percent=others,
        peak_bytes=max(samples),
        rest_bytes=after[0].pss_bytes + after[1].pss_bytes,
    )


def plane_seconds(ground: Ground) -> float:
    return sum(use.cpu_seconds for use in ground.plane.resource_use().values())


def _difference(after: ResourceUse, before: ResourceUse) -> ResourceUse:
    return ResourceUse(
        after.cpu_seconds - before.cpu_seconds, after.rss_bytes, after.pss_bytes, after.processes
    )


def memory(ground: Ground) -> int:
    """Proportional memory of all processes of controller and worker."""
    product = ground.product
    return (product.controller.resource_use() + product.worker.resource_use()).pss_bytes


@asynccontextmanager
async def sampled_memory(ground: Ground) -> AsyncIterator[list[int]]:
    """Memory, read again and again until the block ends."""
    samples = [memory(ground)]

    async def look() -> None:
        while True:
            await asyncio.sleep(SAMPLE_SECONDS)
            samples.append(memory(ground))

    task = asyncio.create_task(look())
    try:
        yield samples
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def warm_up(ground: Ground) -> None:
    """One release of each style that is not measured: after it, modules are loaded, caches are filled, and children
    are running."""
    for style in Style:
        async with fleet(ground, f"warm-up-{style}", style, 1) as made:
            with ground.reporter.phase(f"warm-up: {style}"):
                await release(ground, made)
