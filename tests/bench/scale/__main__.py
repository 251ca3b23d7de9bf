"""The command line: `python -m tests.bench.scale [--only NAME]`, which writes its part of docs/benchmarks.md.

Invariant: each scenario has a control plane of its own, and replaces its own rows of the record only. The exit status
is 0 where every figure is reached. It must not measure.
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
from tests.bench.scale.record import keep, write_section
from tests.bench.scale.releases import COUNTS
from tests.bench.scale.scenarios import ALL


@click.command(
    help="Measure what few have on one machine; each scenario has a control plane of its own."
)
@click.option("--only", multiple=True, type=click.Choice(list(ALL)), help="May be repeated.")
@click.option("--small", is_flag=True, help="A tenth of the sizes; writes nothing.")
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the logs here.",
)
@click.option("--most", type=int, default=1_000, help="Of releases at once.", show_default=True)
def main(only: tuple[str, ...], small: bool, directory: Path | None, most: int) -> None:
    """Measure, record and report; fail where a figure is missed."""
    reached = True
    for name in only or ALL:
        with tempfile.TemporaryDirectory(prefix="moonshift-scale-") as folder:
            where = directory / name if directory else Path(folder)
            rows, others = asyncio.run(_measured(name, small, where, most))
        print_rows(rows)
        reached = reached and all(row.ok for row in rows)
        if not small:
            keep(name, rows, others, most if name == "releases" else None)
            write_section()
    sys.exit(0 if reached else 1)


async def _measured(name: str, small: bool, folder: Path, most: int) -> tuple[list[Row], float]:
    """The rows of a scenario, and how much of the machine others used (percent)."""
    scenario, before = ALL[name], Conditions.now()
    measure = scenario.small if small else scenario.measure
    if name == "releases" and not small:
        measure = partial(measure, counts=tuple(count for count in COUNTS if count <= most))
    rows = await measure(folder, ConsoleReporter(Console(stderr=True)))
    return rows, Conditions.now().others_percent(before)


if __name__ == "__main__":
    main()
