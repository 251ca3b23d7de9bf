"""The gates of a release: a line each, and one for every metric."""

from datetime import datetime

from rich.text import Text
from rich.tree import Tree

from controller.api.analysis import Verdict
from controller.cli.render.words import age, lasting
from controller.cli.views.view import GateMetricView, GateView

_STYLES = {
    Verdict.PASSED.value: "green",
    Verdict.FAILED.value: "bold red",
    Verdict.INCONCLUSIVE.value: "yellow",
}


def add_gates(tree: Tree, gates: tuple[GateView, ...], now: datetime) -> None:
    """The branch of the gates."""
    for gate in gates:
        branch = tree.add(gate_line(gate, now))
        for metric in gate.metrics:
            branch.add(metric_line(metric, now))


def gate_line(gate: GateView, now: datetime) -> Text:
    """The gate's name and its state."""
    where = f"gate of step {gate.step}" if gate.step else "gate in the background"
    text = Text(f"{where}  ").append(gate.verdict, style=_STYLES.get(gate.verdict, "cyan"))
    if gate.verdict == Verdict.RUNNING:
        text.append(lasting(gate.since, now), style="dim")
    return text


def metric_line(metric: GateMetricView, now: datetime) -> Text:
    """The last value against its bounds, why, and when it is measured next."""
    text = Text(f"{metric.name}  ").append(
        metric.verdict, style=_STYLES.get(metric.verdict, "cyan")
    )
    if metric.value:
        bound = f" (wanted: {metric.wanted})" if metric.wanted else ""
        text.append(f"  {metric.value}{bound}", style="default")
    text.append(f"  {metric.reason or 'not measured yet'}", style="default")
    if metric.next_at is not None:
        left = age(now, metric.next_at)
        when = "now" if left == "0s" else f"in {left}"
        text.append(f"  measured next {when}", style="dim")
    return text.append("  dry run" if metric.dry_run else "", style="dim")
