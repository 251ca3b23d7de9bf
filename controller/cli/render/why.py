"""The short answer in lines: the state, the present wait, the waits that end by the clock, the problems."""

from datetime import datetime

from rich.console import Group
from rich.text import Text

from controller.cli.problems import gist, problems_of
from controller.cli.render.gates import gate_line, metric_line
from controller.cli.render.tree import headline
from controller.cli.render.words import ends, waiting_text
from controller.cli.view import GateMetricView, RolloutView


def answer(view: RolloutView, now: datetime, program: str = "") -> Group:
    """A few lines, the gravest problem first; those of a release at rest say that nothing is waited for."""
    lines = [headline(view, now), waiting_text(view.summary, program)]
    lines += [Text(f"{timer.what} {ends(timer.until, now)}") for timer in view.timers]
    for gate in view.gates:
        lines += [gate_line(gate, now), *(_inner(metric, now) for metric in gate.metrics)]
    lines += [
        Text("! ", style="bold red").append(said, style="red")
        for said in problems_of(view)
        if gist(said) not in view.summary.waits_for
    ]
    return Group(*lines)


def _inner(metric: GateMetricView, now: datetime) -> Text:
    return Text("  ").append(metric_line(metric, now))
