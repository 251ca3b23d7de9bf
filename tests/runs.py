"""Runs all tests in three runs of pytest, one after the other.

Why it exists: two kinds of tests cannot share a run with the others. Requests at a steady rate through a real gateway
(`tests/traffic`) are lost on a machine on which other tests take all the time, before any release begins: so they have
a run of their own, in one process. The tests of decisions and wire types are measured (each branch must be taken), and
measuring makes every other test slower: so they have another. Nothing is played twice.

Invariants: each test belongs to exactly one run. A red run does not keep the others from being played; the exit code is
that of the first red one. It must not choose tests: a person who names some (`PYTEST_ARGS`) has one run of those.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.second_try import BASE_TEMP, ROOT, SOME_FAILED
from tests.second_try import main as run_tests

INTERRUPTED = 2
"""The exit code of pytest for a run that a person ended, or whose tests could not be read."""
NOTHING_CHOSEN = 5
"""The exit code of pytest for a run without a test."""
ALONE = ("--numprocesses", "0", "--dist", "no")
ALL_BRANCHES = 100


@dataclass(frozen=True, slots=True)
class Run:
    """Tests that are played together."""

    name: str
    paths: tuple[str, ...]
    without: tuple[str, ...] = ()
    """Folders of these paths that other runs play."""
    alone: bool = False
    """In one process."""
    measured: tuple[str, ...] = ()
    """Packages of which every branch must be taken."""


DECISIONS = ("tests/unit/domain", "tests/unit/api")
TRAFFIC = ("tests/traffic",)
RUNS = (
    Run(
        "decisions and wire types, with their coverage",
        DECISIONS,
        measured=("controller/domain", "controller/api"),
    ),
    Run("requests through a gateway, alone", TRAFFIC, alone=True),
    Run("all others, side by side", ("tests",), without=(*DECISIONS, *TRAFFIC)),
)


def arguments_of(run: Run, arguments: Sequence[str]) -> list[str]:
    """The arguments of pytest for a run: the run's own and those of all runs."""
    found = [*run.paths, *arguments, *(f"--ignore={path}" for path in run.without)]
    if run.alone:
        found += ALONE
    if run.measured:
        found += [
            *(f"--cov={package}" for package in run.measured),
            "--cov-branch",
            "--cov-report=",
        ]
    number = RUNS.index(run) if run in RUNS else 0
    return [f"{each}-{number}" if each.startswith(BASE_TEMP) else each for each in found]


def play(run: Run, arguments: Sequence[str], root: Path = ROOT) -> int:
    """The exit code of a run; a branch that no test takes is a failure like any other."""
    os.environ.setdefault("COVERAGE_FILE", str(root / "build" / "coverage"))
    code = run_tests(arguments_of(run, arguments), root)
    if code in (0, NOTHING_CHOSEN) and run.measured:
        command = ("-m", "coverage", "report", "--skip-covered", f"--fail-under={ALL_BRANCHES}")
        report = subprocess.run([sys.executable, *command], cwd=root, check=False)
        return SOME_FAILED if report.returncode else 0
    return 0 if code == NOTHING_CHOSEN else code


def main(arguments: Sequence[str], runs: Sequence[Run] = RUNS, root: Path = ROOT) -> int:
    """Play all runs and say how each ended; the exit code of the first that failed."""
    codes, lines = [], []
    for run in runs:
        _say(f"\n{run.name}:")
        began = time.monotonic()
        codes.append(play(run, arguments, root))
        verdict = "FAILED" if codes[-1] else "passed"
        lines.append(f"  {run.name}: {verdict} after {(time.monotonic() - began) / 60:.1f} min")
        if codes[-1] == INTERRUPTED:
            break
    _say("\n".join(("", *lines)))
    return next(filter(None, codes), 0)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
