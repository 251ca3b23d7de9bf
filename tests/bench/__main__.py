"""The command line: `python -m tests.bench [--only NAME] [--large] [-o json] [--write PAGE]`.

Why it exists: the figures that the documentation quotes are made by one command. Invariant: the exit status is 0 only
if every requested row was measured and reached its goal; the report goes to standard output, progress to standard
error. It must not measure.
"""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from localcluster.progress import ConsoleReporter, Reporter
from tests.bench.conditions import BUSY_PERCENT, Conditions
from tests.bench.ground import FAILURES, Ground, ground
from tests.bench.measurements import ALL
from tests.bench.page import page
from tests.bench.registry import Measurement, Row
from tests.bench.report import print_json, print_rows
from tests.bench.runs import warm_up

MEASUREMENT_SECONDS = 700.0


@click.command(help="Measure the figures of the documentation, on a control plane of its own.")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([measurement.name for measurement in ALL]),
    help="Measure only this; may be repeated.",
)
@click.option("--large", is_flag=True, help="Also 1 000 Rollouts and 10 000 pods.")
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table")
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep logs and the audit log in this folder.",
)
@click.option(
    "--write",
    "document",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the page, docs/benchmarks.md.",
)
def main(
    only: tuple[str, ...], large: bool, output: str, directory: Path | None, document: Path | None
) -> None:
    """Measure, report, and fail if a figure misses its goal."""
    chosen = [m for m in ALL if (m.name in only if only else m.usual or large)]
    reporter = ConsoleReporter(Console(stderr=True))
    if directory is not None:
        rows, others = asyncio.run(run(chosen, directory, reporter))
    else:
        with tempfile.TemporaryDirectory(prefix="moonshift-bench-") as folder:
            rows, others = asyncio.run(run(chosen, Path(folder), reporter))
    print_json(rows) if output == "json" else print_rows(rows)
    if document is not None:
        unmeasured = [m for m in ALL if m not in chosen]
        text = page(rows, unmeasured, others, sys.argv[1:])
        document.write_text(text, encoding="utf-8")
    for left_out in [m for m in ALL if m not in chosen and not only]:
        reporter.note(f"NOT MEASURED: {left_out.about} (--{left_out.name} measures it)")
    sys.exit(0 if all(row.ok for row in rows) else 1)


async def run(
    chosen: Sequence[Measurement], folder: Path, reporter: Reporter
) -> tuple[list[Row], float]:
    """All rows of the chosen measurements, and the CPU share of other programs (percent)."""
    rows: list[Row] = []
    async with ground(folder, reporter) as made:
        await warm_up(made)
        before = Conditions.now()
        for measurement in chosen:
            rows += await _one(made, measurement)
        others = Conditions.now().others_percent(before)
    if others > BUSY_PERCENT:
        reporter.note(
            f"THE MACHINE WAS NOT OURS: others used {others:.0f} % of its CPU meanwhile; "
            "times are longer than they would be"
        )
    return rows, others


async def _one(made: Ground, measurement: Measurement) -> list[Row]:
    """The rows of a measurement; a failure becomes a missed row, and the other measurements continue."""
    try:
        async with asyncio.timeout(MEASUREMENT_SECONDS):
            return await measurement.measure(made)
    except FAILURES as failure:
        text = "; ".join(_leaves(failure))
        made.reporter.note(f"{measurement.name} failed: {text}")
        return [Row(measurement.about, "", 0, None, note=text)]


def _leaves(failure: Exception) -> list[str]:
    """The errors inside all groups of a failure."""
    if isinstance(failure, ExceptionGroup):
        return [text for inner in failure.exceptions for text in _leaves(inner)]
    words = " ".join(str(failure).split())
    return [
        f"{type(failure).__name__}: {words}" if words else f"{type(failure).__name__}: too slow"
    ]


if __name__ == "__main__":
    main()
