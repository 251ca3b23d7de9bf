"""The command line: `python -m tests.bench.scale [--only NAME]`, which writes its part of docs/benchmarks.md.

Invariant: each scenario has a control plane of its own, and replaces its own rows of the record only. The exit status
is 0 if every figure is reached. It must not measure.
"""

import asyncio
import sys
import tempfile
from functools import partial
from pathlib import Path

import click
from rich.console import Console

from localcluster.progress import ConsoleReporter
from tests.bench.conditions import Conditions
from tests.bench.registry import Row
from tests.bench.report import print_rows
from tests.bench.scale import idle, releases, soak
from tests.bench.scale.idle import PODS, SIZES, Size
from tests.bench.scale.record import keep
from tests.bench.scale.releases import COUNTS
from tests.bench.scale.scenarios import ALL, Measure
from tests.bench.scale.section import write_section
from tests.bench.scale.soak import FLEETS


@click.command(
    help="Measure sizes that need a large machine; each scenario has a control plane of its own."
)
@click.option("--only", multiple=True, type=click.Choice(list(ALL)), help="May be repeated.")
@click.option("--small", is_flag=True, help="A tenth of the sizes; writes nothing.")
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the logs here.",
)
@click.option("--most", type=int, help="Only so many releases at once.")
@click.option("--fleets", type=int, help="Only so many fleets of the soak.")
@click.option("--pods", type=int, help="Only so many pods of each Rollout at rest.")
def main(
    only: tuple[str, ...],
    small: bool,
    directory: Path | None,
    most: int | None,
    fleets: int | None,
    pods: int | None,
) -> None:
    """Measure, record and report; fail if a figure misses its goal."""
    sizes = {"idle": ("--pods", pods), "releases": ("--most", most), "soak": ("--fleets", fleets)}
    smaller: dict[str, Measure] = {
        "idle": partial(idle.measure, sizes=(*SIZES[:2], Size(SIZES[2].rollouts, pods or PODS))),
        "releases": partial(releases.measure, counts=tuple(n for n in COUNTS if n <= (most or n))),
        "soak": partial(soak.measure, fleets=fleets or FLEETS),
    }
    reached = True
    for name in only or ALL:
        measure = ALL[name].small if small else smaller.get(name, ALL[name].measure)
        with tempfile.TemporaryDirectory(prefix="moonshift-scale-") as folder:
            where = directory / name if directory else Path(folder)
            rows, others = asyncio.run(_measured(measure, where))
        print_rows(rows)
        reached = reached and all(row.ok for row in rows)
        if not small:
            option, size = sizes.get(name, ("", None))
            keep(name, rows, others, f"{option} {size}" if size else "")
            write_section()
    sys.exit(0 if reached else 1)


async def _measured(measure: Measure, folder: Path) -> tuple[list[Row], float]:
    """The rows of a scenario, and the CPU share of other programs (percent)."""
    before = Conditions.now()
    rows = await measure(folder, ConsoleReporter(Console(stderr=True)))
    return rows, Conditions.now().others_percent(before)


if __name__ == "__main__":
    main()
