"""`lint-script`: mistakes in a script that its test cases do not show."""

from pathlib import Path

import click
from rich.text import Text

from controller.cli.failures import ExitCode
from controller.cli.script_tools.engine import Engine
from controller.cli.script_tools.lint import lint
from controller.cli.script_tools.private_worker import run, worker_options
from controller.cli.script_tools.remark import Finding
from controller.cli.script_tools.script_folders import (
    Subject,
    asking_subjects_in,
    subject_at,
    subjects_in,
)
from controller.cli.terminal import say

_COLOURS = {"error": "red", "note": "cyan"}


@click.command("lint-script")
@click.argument(
    "paths", metavar="FILE...", nargs=-1, required=True,
    type=click.Path(exists=True, path_type=Path),
)  # fmt: skip
@worker_options
def lint_script(paths: tuple[Path, ...]) -> None:
    """Look for mistakes in scripts.

    FILE is a script, or a folder of scripts. A script is compiled, and run on the originals of its test data with
    invented steps for every word of its --@can line; steps of test data are run twice, in two workers, and
    have to give the same answer. Of a script that asks, the header is compared with what the script uses and what its
    cases ask. Errors are defects that the controller would refuse, and false claims; notes never fail.

    \b
    Example:
      moonshift lint-script lua_configuration/networking.istio.io/VirtualService/trafficRouting.lua
    """
    subjects = [subject for path in paths for subject in _subjects(path)]

    async def work(engine: Engine) -> list[tuple[Subject, list[Finding]]]:
        return [(subject, await lint(engine, subject)) for subject in subjects]

    # Two, so that the second run of a step meets another memory than the first.
    found = run(work, workers=2)
    for subject, findings in found:
        for finding in findings:
            where, severity = f"{subject.path}:{finding.line}: ", finding.severity
            say(Text.assemble(where, (severity, _COLOURS[severity]), f": {finding.message}"))
    counts = {
        severity: sum(item.severity == severity for _, items in found for item in items)
        for severity in _COLOURS
    }
    say(f"{_count(len(found), 'script')}: {_count(counts['error'], 'error')}, "
               f"{_count(counts['note'], 'note')}")  # fmt: skip
    if counts["error"]:
        raise SystemExit(int(ExitCode.FAILED))


def _subjects(path: Path) -> list[Subject]:
    return [*subjects_in(path), *asking_subjects_in(path)] if path.is_dir() else [subject_at(path)]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
