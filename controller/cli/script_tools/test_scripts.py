"""`test-scripts`: every test case of every script, in the worker that production uses."""

import time
from pathlib import Path

import click
from rich.text import Text

from controller.cli.failures import ExitCode, Failure
from controller.cli.script_tools.case_report import report_lines, summary
from controller.cli.script_tools.cases import BadCase
from controller.cli.script_tools.engine import Engine
from controller.cli.script_tools.junit import write_junit
from controller.cli.script_tools.private_worker import run, worker_options
from controller.cli.script_tools.script_folders import (
    ROUTE,
    Subject,
    asking_subjects_in,
    subjects_in,
)
from controller.cli.script_tools.suite import Report, Suite
from controller.cli.script_tools.update import update
from controller.cli.script_tools.watched_folder import changed, snapshot
from controller.cli.terminal import say


@click.command("test-scripts")
@click.argument(
    "folder",
    metavar="[DIR]",
    default="lua_configuration",
    type=click.Path(path_type=Path),
)
@click.option("-k", "keyword", default="", metavar="TEXT", help="Only cases whose name has it.")
@click.option("-w", "--watch", is_flag=True, help="Run again whenever a file changes.")
@click.option(
    "--update", "rewrite", is_flag=True, help="Rewrite the expected answers of the cases."
)
@click.option("--junit", metavar="FILE", type=click.Path(path_type=Path), help="JUnit XML.")
@click.option(
    "--min-coverage",
    metavar="PERCENT",
    type=click.IntRange(0, 100),
    default=0,
    help="Fail where fewer statements of a script are run.",
)
@worker_options
def test_scripts(
    folder: Path, keyword: str, watch: bool, rewrite: bool, junit: Path | None, min_coverage: int
) -> None:
    """Run the test cases of scripts.

    DIR holds <group>/<Kind>/trafficRouting.lua and trafficrouting_ingress/<class>.lua, with their cases in testdata/;
    and scripts that ask: source/<name>.lua, check/<name>.lua and target/<name>.lua, with the requests that they have to
    ask, and the answers, in testdata/<name>/. lua_configuration if not given. A script without a case fails.

    \b
    Example:
      moonshift test-scripts
      moonshift test-scripts my-scripts -k VirtualService --watch
    """
    if not folder.is_dir():
        raise Failure(f"{folder} is no folder: name the one that holds your scripts")

    async def work(engine: Engine) -> bool:
        while True:
            before = snapshot(folder)
            well = await _round(engine, folder, keyword, rewrite, junit, min_coverage)
            if not watch:
                return well
            say(Text("waiting for a change (Ctrl-C ends)", style="dim"))
            names = ", ".join(path.name for path in await changed(folder, before))
            say(f"\nchanged: {names}\n")

    if not run(work):
        raise SystemExit(int(ExitCode.FAILED))


async def _round(
    engine: Engine,
    folder: Path,
    keyword: str,
    rewrite: bool,
    junit: Path | None,
    min_coverage: int,
) -> bool:
    """All cases once; whether all is well."""
    subjects = (*subjects_in(folder), *asking_subjects_in(folder))
    if not subjects:
        say(
            f"no script below {folder}: <group>/<Kind>/trafficRouting.lua is looked for, and "
            "source/<name>.lua, check/<name>.lua, target/<name>.lua"
        )
        return False
    if rewrite:
        # The answer of a vendor is no result of ours: cases with exchanges are written by hand.
        await _rewrite(engine, tuple(one for one in subjects if one.does == ROUTE), keyword)
    began = time.monotonic()
    reports = await Suite(engine, keyword).run(subjects)
    for report in reports:
        for line in report_lines(report):
            say(line)
        say("")
    say(summary(reports, time.monotonic() - began))
    if junit is not None:
        write_junit(junit, reports)
    low = [report for report in reports if _below(report, min_coverage)]
    for report in low:
        say(f"{report.subject.name}: less than {min_coverage} % of its statements are run")
    return bool(reports) and not low and not any(report.failed for report in reports)


def _below(report: Report, least: int) -> bool:
    return report.coverage is not None and report.coverage.percent < least


async def _rewrite(engine: Engine, subjects: tuple[Subject, ...], keyword: str) -> None:
    for subject in subjects:
        for updated in await update(engine, subject, keyword):
            if isinstance(updated, BadCase):
                say(f"not updated: {updated.path}: {updated.problem}")
            else:
                say(f"updated: {updated}")
