"""The short answer in lines: the state, the present wait, waits that end by the clock, problems, commands to type."""

from datetime import datetime

from rich.console import Group
from rich.text import Text

from controller.cli.remedies.remedy_table import remedies
from controller.cli.render.checks import check_line
from controller.cli.render.gates import gate_line, metric_line
from controller.cli.render.live_tree import headline
from controller.cli.render.words import ends, waiting_text
from controller.cli.terminal import one_line
from controller.cli.views.problems import gist, problems_of
from controller.cli.views.view import GateMetricView, Remedy, RolloutView

MAX_ALIGNED = 90
"""The widest command before its comment, in columns."""


def answer(view: RolloutView, now: datetime, program: str = "") -> Group:
    """A few lines, the most serious problem first; for a release at rest they say that it waits for nothing.

    Messages of others stay within their line: one that goes on in the next could look like a command to type.
    """
    lines = [headline(view, now), waiting_text(view.summary)]
    lines += [Text(f"{timer.what} {ends(timer.until, now)}") for timer in view.timers]
    for gate in view.gates:
        lines += [gate_line(gate, now), *(_inner(metric, now) for metric in gate.metrics)]
    lines += [check_line(check, now) for check in view.checks]
    if shared := shared_problem(view):
        lines.append(Text(f"the problem is that of TrafficRouting {shared}", style="red"))
    lines += [
        Text("! ", style="bold red").append(problem, style="red")
        for problem in problems_of(view)
        if gist(problem) not in view.summary.waits_for
    ]
    lines += _next(remedies(view, program))
    for line in lines:
        line.plain = one_line(line.plain)
    return Group(*lines)


def shared_problem(view: RolloutView) -> str:
    """The TrafficRouting whose problem stalls the Rollout; empty if it is another problem."""
    shared = view.shared_routes
    known = shared is not None and shared.problem and shared.problem in view.summary.waits_for
    return f"{view.summary.namespace}/{shared.name}" if shared is not None and known else ""


def _next(found: tuple[Remedy, ...]) -> list[Text]:
    """Commands with their purpose as a shell comment, so that a whole line can be copied."""
    if not found:
        return []
    width = min(MAX_ALIGNED, max(len(remedy.command) for remedy in found))
    commands = [
        Text("  ")
        .append(remedy.command.ljust(width), style="bold")
        .append(f"  # {remedy.purpose}", style="dim")
        for remedy in found
    ]
    return [Text("type next:", style="dim"), *commands]


def _inner(metric: GateMetricView, now: datetime) -> Text:
    return Text("  ").append(metric_line(metric, now))
