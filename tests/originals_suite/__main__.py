"""The command line: `python -m tests.originals_suite [--focus WORDS] [--processes N] [--dir DIR]`.

Why it exists: how far Moonshift is a drop-in replacement is measured by one command. Invariant: the exit status is 0
only where exactly those specs failed that are written down as different on purpose. It must not run a
spec itself.
"""

import asyncio
import re
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console

from localcluster.progress import ConsoleReporter, Reporter
from tests.originals_suite.differences import DIFFERENCES
from tests.originals_suite.ground import ground
from tests.originals_suite.program import ensure_suite, manifests
from tests.originals_suite.report import Report
from tests.originals_suite.running import Outcome, Runner

PROCESSES = 6
"""Specs at a time; they wait far more than they compute."""


@click.command(help="Run the end-to-end tests of OpenKruise Rollouts, unmodified, on Moonshift.")
@click.option("--focus", default="", help="Only specs whose name or place this expression finds.")
@click.option("--processes", default=PROCESSES, show_default=True, help="How many specs at a time.")
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep all logs in this folder.",
)
def main(focus: str, processes: int, directory: Path | None) -> None:
    """Run, print the table, and fail if a spec's result differs from the recorded one."""
    reporter = ConsoleReporter(Console(stderr=True))
    if directory is not None:
        report = asyncio.run(run(focus, processes, directory.absolute(), reporter))
    else:
        with tempfile.TemporaryDirectory(prefix="moonshift-originals-suite-") as folder:
            report = asyncio.run(run(focus, processes, Path(folder), reporter))
    report.print()
    sys.exit(1 if report.surprises else 0)


async def run(focus: str, processes: int, folder: Path, reporter: Reporter) -> Report:
    """Build, bring up the cluster, and run the specs that the expression `focus` finds."""
    suite = await ensure_suite(reporter)
    logs = folder / "specs"
    await asyncio.to_thread(logs.mkdir, parents=True, exist_ok=True)

    def tell(outcome: Outcome) -> None:
        how = "passed" if outcome.passed else "FAILED"
        reporter.note(f"{how} {outcome.seconds:4.0f} s  {outcome.spec.place}  {outcome.why}")

    async with ground(folder, manifests(suite), reporter) as product:
        runner = Runner(suite, product.plane.kubeconfig("admin"), logs, DIFFERENCES.keys())
        found = await runner.listed()
        wanted = [s for s in found if re.search(focus, f"{s.place} {s.full_name}")]
        return Report.of(await runner.run(wanted, processes, tell), len(found))


if __name__ == "__main__":
    main()
