"""Release after release, fleet after fleet: does memory grow?

Why fleets come and go: data kept for a deleted name is the leak that a long life shows. Invariant: memory is
read when no Rollout is left and nothing is done, so that all samples are of the same state, and before objects are
counted, for the list of them needs memory itself; styles change from fleet to fleet, and of three releases of each
Rollout the last one is undone. It must not judge more than its rows say.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, linear_regression

from controller.app.heap import REST_SECONDS
from controller.telemetry.completed import LOOKS
from localcluster.progress import Reporter
from tests.bench.fleet import fleet
from tests.bench.ground import Ground
from tests.bench.objects import Style
from tests.bench.registry import Row
from tests.bench.scale.again import release_again
from tests.bench.scale.watched import Late, WatchedProduct, watched_ground

FLEETS = 30
TOGETHER = 25
VERSIONS = ("v2", "v3", "v4")
"""The last one is taken back."""
REPLICAS = 2
WARM = 14
"""Fleets whose samples are thrown away: after them, pools and bounded caches have their full size."""
TOLD = 6
"""Types of objects that are named."""
KILOBYTE = 1e3
CERTAIN = 1.96
"""Standard errors on both sides of a slope that contain the true one in 95 of 100 cases."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Memory in bytes and objects after so many releases."""

    releases: int
    controller: int
    worker: int
    blocks: int
    """Of memory, that the controller's Python objects have."""
    cpu: float
    types: dict[str, int]
    """Python objects of the controller, by the name of their type."""


@dataclass(frozen=True, slots=True)
class Slope:
    """Growth per release, and how far it may be off."""

    each: float
    error: float

    @property
    def surely(self) -> float:
        """The least growth that is certain; 0 if there may be no growth."""
        return max(0.0, self.each - self.error)

    def __str__(self) -> str:
        return f"{self.each:+.2f} ± {self.error:.2f}"


async def measure(folder: Path, reporter: Reporter, fleets: int = FLEETS) -> list[Row]:
    """All fleets, one after the other."""
    async with watched_ground(folder, reporter) as ground:
        product = ground.product
        assert isinstance(product, WatchedProduct)
        mark = product.mark()
        samples = [await _fleet(ground, product, number) for number in range(fleets)]
        late = product.late(mark)
    return list(_rows(samples, late))


async def _fleet(ground: Ground, product: WatchedProduct, number: int) -> Sample:
    style = tuple(Style)[number % len(Style)]
    async with fleet(ground, f"soak-{number}", style, TOGETHER, replicas=REPLICAS) as made:
        for version in VERSIONS:
            with ground.reporter.phase(f"{made.namespace}: {version}"):
                undo = VERSIONS[-2] if version == VERSIONS[-1] else ""
                await release_again(ground, made, version, undo)
    await _scraped(product)
    await asyncio.sleep(REST_SECONDS + 1)  # the heap's free pages are given back
    controller = product.controller.resource_use()
    counted = await product.collect()
    sample = Sample(
        releases=(number + 1) * TOGETHER * len(VERSIONS),
        controller=controller.pss_bytes,
        worker=product.worker.resource_use().pss_bytes,
        blocks=counted.blocks,
        cpu=controller.cpu_seconds,
        types=dict(counted.types),
    )
    ground.reporter.note(str(replace(sample, types={})))
    return sample


async def _scraped(product: WatchedProduct) -> None:
    """Scraped as often as in ten minutes of a real cluster, after which the counters of a namespace go."""
    for _ in range(LOOKS + 2):
        await product.page()


def _growing(first: Sample, last: Sample) -> str:
    """The types of which there are more in the end, the most first."""
    more = Counter(last.types)
    more.subtract(first.types)
    return ", ".join(f"{name} {count:+d}" for name, count in more.most_common(TOLD) if count > 0)


def slope(samples: Sequence[tuple[float, float]]) -> Slope:
    """The straight line through samples, by least squares."""
    across, up = [x for x, _ in samples], [y for _, y in samples]
    line = linear_regression(across, up)
    off = sum((y - line.slope * x - line.intercept) ** 2 for x, y in samples)
    spread = sum((x - fmean(across)) ** 2 for x in across)
    return Slope(line.slope, CERTAIN * math.sqrt(off / (len(samples) - 2) / spread))


def _rows(samples: Sequence[Sample], late: Late) -> Iterator[Row]:
    kept = samples[min(WARM, len(samples) // 3) :]
    first, last = kept[0], kept[-1]
    what = f"{samples[-1].releases} releases of {len(samples) * TOGETHER} Rollouts"
    grows = f"kB a release (95 % confidence), from the {first.releases}th release on"
    controller = slope([(s.releases, s.controller / KILOBYTE) for s in kept])
    worker = slope([(s.releases, s.worker / KILOBYTE) for s in kept])
    counted = slope([(s.releases, s.blocks) for s in kept])
    cpu = (last.cpu - first.cpu) / (last.releases - first.releases)
    for who, line, from_, to in (
        ("controller", controller, first.controller, last.controller),
        ("worker", worker, first.worker, last.worker),
    ):
        note = f"{line} {grows}; {from_ / 1e6:.1f} MB there, {to / 1e6:.1f} MB in the end"
        name = f"{what}: the {who}'s memory grows by at least"
        yield Row(name, "-", 0, line.surely, "kB a release", note)
    more = _growing(first, last) or "no type has more"
    note = f"{counted} a release; {first.blocks} at first, {last.blocks} in the end: {more}"
    name = "the controller's Python objects grow by at least"
    yield Row(name, "-", 0, counted.surely, "blocks of memory a release", note)
    yield Row(
        "controller's CPU of a release, including creation and removal of the Rollout",
        "-",
        0.5,
        cpu,
    )
    yield Row("event loop late, p99", "-", 50, late.own, "ms", str(late))
