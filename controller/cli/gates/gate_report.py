"""A gate that was tried or played, for people."""

from collections.abc import Iterator
from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from controller.api.analysis import Reading
from controller.cli.durations import span
from controller.cli.gates.past import GateReplayed
from controller.cli.gates.sparkline import sparkline
from controller.cli.gates.trying import GateTried, MetricTried, SeriesView
from controller.cli.render.table import plain_table
from controller.cli.render.words import counted
from controller.cli.terminal import one_line
from controller.domain.gates.value_rules import shown

_STYLES = {Reading.GOOD: "green", Reading.BAD: "bold red", Reading.ERROR: "bold red"}
MAX_STOPS = 10
MAX_CHARACTERS = 200
"""Characters of a page's text."""


def tried_report(gates: tuple[GateTried, ...]) -> RenderableType:
    """Every gate, its metrics below it."""
    parts: list[RenderableType] = []
    for gate in gates:
        parts.append(Text(f"Gate: {gate.gate}", style="bold"))
        if gate.problem:
            parts.append(Text(f"  cannot be asked: {gate.problem}", style="red"))
        for metric in gate.metrics:
            parts += _metric(metric)
    return Group(*parts)


def _metric(metric: MetricTried) -> Iterator[Text]:
    style = _STYLES.get(metric.reading, "yellow")
    line = Text(f"  {metric.name}  ", style="bold").append(metric.reading, style=style)
    line.append(f"  {metric.reason}", style="default")
    yield line.append("  (dry run: decides nothing)" if metric.dry_run else "", style="dim")
    if metric.query:
        yield Text(f"    query    {' '.join(metric.query.split())}")
    named = (("value", metric.value), ("stable", metric.stable), ("samples", metric.samples))
    values = [f"{name} {_number(value)}" for name, value in named if value is not None]
    yield Text(f"    now      {', '.join(values) or 'no value'}")
    for series in metric.series:
        yield _series(series)


def _series(series: SeriesView) -> Text:
    line = Text(f"    {series.side:<8} ")
    if series.problem:
        return line.append(f"no series: {series.problem}", style="red")
    finite = [value if isinstance(value, float) else None for value in series.values]
    known = [value for value in finite if value is not None]
    if not known:
        return line.append("no values in the last hour", style="yellow")
    line.append(sparkline(finite), style="cyan")
    return line.append(f"  {shown(min(known))} to {shown(max(known))} in the last hour")


def _number(value: float | str) -> str:
    if not isinstance(value, str):
        return shown(value)
    line = one_line(value)
    return line if len(line) <= MAX_CHARACTERS else f"{line[: MAX_CHARACTERS - 1]}…"


# --- the past -----------------------------------------------------------------------------------


def replay_report(gates: tuple[GateReplayed, ...]) -> RenderableType:
    """A sentence for each gate, and when it would have stopped a release."""
    parts: list[RenderableType] = []
    for gate in gates:
        parts.append(Text(f"Gate: {gate.gate}", style="bold"))
        style = "red" if gate.problem else "yellow" if gate.stopped else "default"
        parts.append(Text(f"  {summary(gate)}", style=style))
        if gate.stops:
            parts.append(_stops(gate))
    return Group(*parts)


def summary(gate: GateReplayed) -> str:
    """The stopped releases, and the number of all."""
    if gate.problem:
        return f"cannot be played: {gate.problem}"
    length = span(gate.until - gate.since)
    if not gate.releases:
        return f"no release would have ended within the last {length}: give a longer --replay"
    began = f"Of {counted(gate.releases, 'release')} that began in the last {length}"
    share = f"{100 * gate.stopped / gate.releases:.3g} %"
    text = f"{began}, the gate would have stopped {gate.stopped} ({share})"
    if gate.waiting:
        text += f", and {gate.waiting} would still have waited: {gate.waits_for}"
    return f"{text}; {gate.passed} would have gone on."


def _stops(gate: GateReplayed) -> RenderableType:
    table = plain_table("  BEGAN FROM", "TO", "RELEASES", "VERDICT", "WHY")
    for stop in gate.stops[:MAX_STOPS]:
        table.add_row(
            f"  {_at(stop.first)}",
            _at(stop.last),
            str(stop.releases),
            stop.verdict,
            stop.message,
        )
    left = len(gate.stops) - MAX_STOPS
    if left > 0:
        table.add_row(f"  and {counted(left, 'more period')}", "", "", "", "")
    return table


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%MZ}"
