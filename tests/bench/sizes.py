"""The cost of one release while other releases run: `python -m tests.bench.sizes`, drawn by `make plots`.

Why it exists: a figure at one size does not show how the cost grows. Invariant: each size is a run of a fleet of its
own on one control plane, the smallest first; the record is a run of the bench, unrounded. It must not judge or draw.
"""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.console import Console

from demo.stage import ROOT
from localcluster.build import KUBERNETES_VERSION
from localcluster.progress import ConsoleReporter
from tests.bench.ground import Ground, ground
from tests.bench.objects import Style
from tests.bench.runs import Run, automatic, warm_up

RECORD = ROOT / "docs" / "benchmarks" / "sizes.json"
COUNTS = (1, 5, 10, 25)
"""Rollouts that are released in the same instant."""
MEGABYTE = 1e6


class Point(msgspec.Struct, frozen=True, rename="camel"):
    """The cost of each of a number of releases at once; CPU in seconds, memory of both processes in MB."""

    style: Style
    rollouts: int
    requests: float
    controller_cpu: float
    worker_cpu: float
    peak_memory: float
    seconds: float
    """From the first change to the last end."""
    others_percent: float
    """The share of the machine's CPU that other programs used."""

    @property
    def cpu(self) -> float:
        """CPU seconds of both processes."""
        return self.controller_cpu + self.worker_cpu


class Record(msgspec.Struct, frozen=True, rename="camel"):
    """All points, and where they are from."""

    day: str
    cores: int
    kubernetes: str
    points: tuple[Point, ...]


def read() -> Record:
    """The last record."""
    return msgspec.json.decode(RECORD.read_bytes(), type=Record)


def _point(style: Style, run: Run) -> Point:
    count = len(run.releases)
    return Point(
        style=style,
        rollouts=count,
        requests=run.requests_each,
        controller_cpu=run.controller.cpu_seconds / count,
        worker_cpu=run.worker.cpu_seconds / count,
        peak_memory=run.peak_bytes / MEGABYTE,
        seconds=run.makespan,
        others_percent=run.others_percent,
    )


def _sizes() -> Iterator[tuple[int, Style]]:
    for count in COUNTS:
        for style in Style:
            yield count, style


async def _measured(made: Ground) -> list[Point]:
    await warm_up(made)
    return [_point(style, await automatic(made, style, count)) for count, style in _sizes()]


async def main() -> None:
    """Measure every size, and record it."""
    reporter = ConsoleReporter(Console(stderr=True))
    with tempfile.TemporaryDirectory(prefix="moonshift-sizes-") as folder:
        async with ground(Path(folder), reporter) as made:
            points = await _measured(made)
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    record = Record(day, os.cpu_count() or 1, KUBERNETES_VERSION, tuple(points))
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_bytes(msgspec.json.format(msgspec.json.encode(record)) + b"\n")


if __name__ == "__main__":
    asyncio.run(main())
