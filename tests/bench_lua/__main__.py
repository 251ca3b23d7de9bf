"""The command line: `python -m tests.bench_lua [--write]`.

Prints the cost of isolation beside unprotected lupa in this process, its benefit when neighbours attack, and how fast
it stops them. Invariant: the exit status is 0 only if no figure exceeds the limit at which the run fails; these limits
are ratios within one run, so they hold on any machine; absolute goals are printed and marked.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from luaworker.settings import MEGABYTE
from tests.bench.conditions import Conditions
from tests.bench_lua import neighbours, resting, speed, stops
from tests.bench_lua.figures import Figures, Goal
from tests.bench_lua.processes import SPARES, measured_worker, memory_bytes
from tests.bench_lua.section import write

_SMALL, _LARGE = 5_000, 200_000
_SMALL_CALLS, _LARGE_CALLS = 600, 48
_IDLE_GOAL = 80.0
_WIDTH = 110


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f}"


def _speed_table(speeds: list[speed.Speed]) -> Table:
    table = Table(
        "object", "way to run it", "requests/s per core", "p50 ms", "p99 ms", "time / in-process"
    )
    for found in speeds:
        for label, figures in (
            ("lupa in this process", found.in_process),
            ("recycled worker, gRPC", found.recycled),
            ("single-use child, gRPC", found.single_use),
        ):
            ratio = figures.cpu_per_call / found.in_process.cpu_per_call
            table.add_row(
                found.label, label, f"{figures.per_core:.0f}", _ms(figures.percentile(0.5)),
                _ms(figures.percentile(0.99)), f"{ratio:.1f}",
            )  # fmt: skip
    return table


def _neighbours_table(found: dict[int, Figures]) -> Table:
    table = Table("hogs", "requests", "p50 ms", "p99 ms", "p99 / alone")
    alone = found[0].percentile(0.99)
    for hogs, figures in found.items():
        p99 = figures.percentile(0.99)
        row = (_ms(figures.percentile(0.5)), _ms(p99), f"{p99 / alone:.2f}")
        table.add_row(str(hogs), str(len(figures.seconds)), *row)
    return table


def _stops_table(found: list[stops.Stop]) -> Table:
    table = Table("limit and the part that enforces it", "median ms", "longest ms")
    for stop in found:
        table.add_row(stop.label, f"{stop.median:.0f}", f"{stop.longest:.0f}")
    return table


def _goals_table(goals: list[Goal]) -> Table:
    table = Table("goal", "found", "bound", "")
    for goal in goals:
        verdict = (
            "reached" if goal.reached else "MISSED" if goal.fails else "missed (reported only)"
        )
        sign = "≤" if goal.at_most else "≥"
        table.add_row(
            goal.name,
            f"{goal.value:.2f} {goal.unit}",
            f"{sign} {goal.bound:g} {goal.unit}",
            verdict,
        )
    return table


async def run(console: Console) -> list[Goal]:
    """Measures everything and prints it."""
    with tempfile.TemporaryDirectory(prefix="moonshift-bench-lua-") as folder:
        async with measured_worker(Path(folder)) as running:
            idle = memory_bytes(running) / MEGABYTE
            small = await speed.measure(running, "5 KB", _SMALL, _SMALL_CALLS)
            large = await speed.measure(running, "200 KB", _LARGE, _LARGE_CALLS)
            beset = await neighbours.measure(running, small.single_use.percentile(0.5))
            stopped = await stops.measure(running)
        rested = await resting.measure(Path(folder))
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    console.print(
        f"{os.cpu_count()} cores, load {load}; a core's share is counted in CPU time of all processes"
    )
    console.print(_speed_table([small, large]))
    console.print(_neighbours_table(beset))
    console.print(_stops_table(stopped))
    goals = [
        *speed.goals(small, large),
        *neighbours.goals(beset),
        *stops.goals(stopped),
        Goal(f"idle memory with {SPARES} spares", idle, _IDLE_GOAL, "MB"),
        *resting.goals(rested),
    ]
    console.print(_goals_table(goals))
    return goals


@click.command(help="Measure the cost of isolating scripts; fails if a ratio exceeds its limit.")
@click.option("--write", "writes", is_flag=True, help="Also write this part of docs/benchmarks.md.")
def main(writes: bool) -> None:
    """Measure, print, record; the exit status."""
    before = Conditions.now()
    goals = asyncio.run(run(Console(width=_WIDTH)))
    if writes:
        write(goals, Conditions.now().others_percent(before))
    sys.exit(1 if any(goal.fails for goal in goals) else 0)


if __name__ == "__main__":
    main()
