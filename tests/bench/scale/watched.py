"""The product with measurements of its event loop from inside, and the measured delays.

Invariant: command lines are the product's own, with `inside` before them. It must not judge.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from urllib.request import urlopen

import msgspec

from demo.stage import Product
from localcluster.plane import Plane
from localcluster.ports import free_ports
from localcluster.process import Component
from localcluster.progress import Reporter
from tests.bench.figures import p99
from tests.bench.follow import Follower
from tests.bench.ground import VIRTUAL_SERVICE_CRD, Ground
from tests.bench.objects import DEPLOYMENTS, ROLLOUTS
from tests.bench.scale.inside import Second

COLLECT_SECONDS = 60.0
LOOK_SECONDS = 0.1
START_SECONDS = 300.0
"""A controller that lists a hundred thousand pods needs this long."""


@dataclass(frozen=True, slots=True)
class Late:
    """The delays of the loop in milliseconds, p99 and maximum: by the clock, and by its own work."""

    clock: float
    own: float
    most: float

    def __str__(self) -> str:
        return f"by the clock p99 {self.clock:.0f} ms; its own work p99 {self.own:.0f} ms, at most {self.most:.0f} ms"


class WatchedProduct(Product):
    """Product whose controller notes in a file how late its loop is."""

    @property
    def seen(self) -> Path:
        """Where the controller writes."""
        return self.folder / "loop.jsonl"

    def _add(
        self,
        name: str,
        deployment: str,
        values: dict[str, str],
        probes: int,
        extra: Sequence[str] = (),
    ) -> None:
        super()._add(name, deployment, values, probes, extra)
        if name == "controller":
            self.components[name] = watched(self.components[name], self.seen)

    def mark(self) -> int:
        """A cursor behind everything written so far."""
        return self.seen.stat().st_size if self.seen.exists() else 0

    def late(self, mark: int) -> Late:
        """How late the loop was since the mark."""
        lines = self._since(mark)
        clock = [value for line in lines for value in line.clock] or [0.0]
        own = [value for line in lines for value in line.own] or [0.0]
        return Late(p99(clock), p99(own), max(own))

    async def collect(self) -> Second:
        """Let the controller collect its garbage, and return the counts after it."""
        mark = self.mark()
        os.kill(self.controller.pid, signal.SIGUSR1)
        async with asyncio.timeout(COLLECT_SECONDS):
            while not (found := [line for line in self._since(mark) if line.objects]):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)
        return found[-1]

    async def page(self) -> str:
        """The controller's metrics, as Prometheus reads them."""
        address = f"http://127.0.0.1:{self.controller_metrics}/metrics"
        return await asyncio.to_thread(_read, address)

    def last_logged(self, message: str) -> datetime | None:
        """When the controller wrote a line of its log last."""
        lines = self.controller.program.log.read_text().splitlines()
        found = [json.loads(line) for line in lines if f'"{message}"' in line]
        return datetime.fromisoformat(found[-1]["ts"]) if found else None

    def _since(self, mark: int) -> list[Second]:
        if not self.seen.exists():
            return []
        with self.seen.open("rb") as file:
            file.seek(mark)
            *whole, _unfinished = file.read().split(b"\n")
        return [msgspec.json.decode(line, type=Second) for line in whole]


def _read(address: str) -> str:
    with urlopen(address) as page:
        return str(page.read().decode())


def watched(component: Component, seen: Path) -> Component:
    """The same program, run by `inside`."""
    program = component.program
    python, _module, *rest = program.command
    command = [python, "-m", "tests.bench.scale.inside", str(seen), *rest]
    return Component(replace(program, command=command), component._is_ready, START_SECONDS)


@asynccontextmanager
async def watched_ground(folder: Path, reporter: Reporter) -> AsyncIterator[Ground]:
    """The ground of a measurement, with a product whose event loop is watched."""
    async with Plane.start(folder / "plane", reporter=reporter) as plane:
        await plane.apply(await asyncio.to_thread(VIRTUAL_SERVICE_CRD.read_text), server_side=True)
        product = WatchedProduct(plane, folder / "product", free_ports(5))
        await asyncio.to_thread(product.folder.mkdir, parents=True, exist_ok=True)
        with reporter.phase("install and start the product"):
            await product.install()
            await product.start()
        admin = plane.client()
        try:
            async with (
                Follower.start(admin, f"{ROLLOUTS}/rollouts") as rollouts,
                Follower.start(admin, f"{DEPLOYMENTS}/deployments") as deployments,
            ):
                yield Ground(plane, product, reporter, rollouts, deployments)
        finally:
            await product.stop()
