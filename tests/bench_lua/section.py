"""The part of docs/benchmarks.md that is about scripts in the worker, and its record, docs/benchmarks/worker.json.

Why it exists: the goals of isolation are judged in a run of their own, because another control plane's work on the same
cores would count as the worker's. Invariant: the page has the rows of the record, and no other figure. It must not
measure or judge.
"""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

import msgspec

from tests.bench.sections import PAGE, replace_section
from tests.bench_lua.figures import Goal

RECORD = PAGE.parent / "benchmarks" / "worker.json"
HEADING = "## Scripts in the worker"
_TEXT = """{heading}

`python -m tests.bench_lua --write`, {day}, {cores} cores, Python {python}, lupa {lupa}; other programs used
{others:.0f} % of the CPU.

Each script runs in a process that has no files, no network and no other rights. Its cost is compared with the cost of
lupa without protection, for the same script and the same object (5 KB or 200 KB) in the same run. Such a ratio holds on
other machines, too. *Single-use* is a new process for each call (scripts of a namespace); *recycled* is a process
that serves later calls of the same tenant (packaged scripts). Both are called through gRPC. *Time* is the CPU time of
all processes. A *hog* is a tenant that sends endless or greedy scripts without a pause. *Stopped after* is the time
until the worker stops a script that exceeds the limit.

| what | goal | measured |
|---|---|---|
{rows}
"""


class Measured(msgspec.Struct, frozen=True):
    """The figures of one run, and their origin."""

    day: str
    cores: int
    python: str
    lupa: str
    others_percent: float
    goals: tuple[Goal, ...]


def write(goals: Sequence[Goal], others_percent: float) -> None:
    """Record a run in place of the former one, and show it on the page."""
    measured = Measured(
        day=datetime.now(UTC).strftime("%Y-%m-%d"),
        cores=os.cpu_count() or 1,
        python=platform.python_version(),
        lupa=version("lupa"),
        others_percent=round(others_percent, 1),
        goals=tuple(goals),
    )
    RECORD.write_bytes(msgspec.json.format(msgspec.json.encode(measured)) + b"\n")
    replace_section(HEADING, section())


def section() -> str:
    """The part of the page."""
    measured = msgspec.json.decode(RECORD.read_bytes(), type=Measured)
    return _TEXT.format(
        heading=HEADING,
        day=measured.day,
        cores=measured.cores,
        python=measured.python,
        lupa=measured.lupa,
        others=measured.others_percent,
        rows="\n".join(_row(goal) for goal in measured.goals),
    )


def _row(goal: Goal) -> str:
    sign = "<=" if goal.at_most else ">="
    missed = "" if goal.reached else " **missed**"
    return f"| {goal.name} | {sign} {goal.bound:g} {goal.unit} | {goal.value:.2f} {goal.unit}{missed} |"
