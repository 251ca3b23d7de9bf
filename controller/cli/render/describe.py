"""Everything about one Rollout: the tree, the plan, conditions, approvals, diffs, Events."""

from datetime import datetime

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from controller.cli.render.live_tree import rollout_tree
from controller.cli.render.table import plain_table
from controller.cli.render.words import NOBODY, age
from controller.cli.terminal import diff_line
from controller.cli.views.view import ConditionView, RolloutView

DONE = "✔"
"""Marks a step that is over; an x would read as a failure."""
_BAD = frozenset({("Stalled", "True"), ("Succeeded", "False")})


def rollout_description(view: RolloutView, now: datetime, program: str = "") -> Group:
    """All sections, in the order a person asks."""
    parts: list[RenderableType] = [rollout_tree(view, now, program)]
    if view.summary.message:
        parts.append(_section("Message", Text(view.summary.message)))
    parts.append(_section("Steps", _steps(view)))
    parts.append(_section("Conditions", _conditions(view, now)))
    parts.append(_section("Approvals", _approvals(view, now)))
    for route in view.routes:
        if route.diff:
            title = f"{route.kind}/{route.name} against its original"
            parts.append(_section(title, _diff(route.diff)))
        if route.drift:
            title = f"{route.kind}/{route.name} against the release's content"
            parts.append(_section(title, _diff(route.drift)))
    parts.append(_section("Events", _events(view, now)))
    return Group(*parts)


def _section(title: str, content: RenderableType) -> Group:
    return Group(Text(""), Text(title, style="bold"), Padding(content, (0, 0, 0, 2)))


def _steps(view: RolloutView) -> RenderableType:
    table = plain_table("", "STEP", "NEW PODS", "TRAFFIC", "PAUSE")
    for step in view.steps:
        style = "bold yellow" if step.mark == "now" else "dim" if step.mark == "done" else ""
        mark = {"now": ">", "done": DONE}.get(step.mark, "")
        table.add_row(mark, str(step.index), step.pods, step.traffic, step.pause, style=style)
    return table


def _conditions(view: RolloutView, now: datetime) -> RenderableType:
    if not view.conditions:
        return Text("none")
    table = plain_table("TYPE", "STATUS", "REASON", "FOR", "MESSAGE")
    for condition in view.conditions:
        style = "red" if _is_bad(condition) else ""
        cells = (
            condition.type,
            condition.status,
            condition.reason,
            age(condition.since, now),
            condition.message,
        )
        table.add_row(*cells, style=style)
    return table


def _is_bad(condition: ConditionView) -> bool:
    return (condition.type, condition.status) in _BAD


def _approvals(view: RolloutView, now: datetime) -> RenderableType:
    if not view.approvals:
        return Text("none")
    table = plain_table("STEP", "BY", "AGE", "MESSAGE")
    for approval in view.approvals:
        cells = (str(approval.step), approval.by or NOBODY, age(approval.at, now))
        table.add_row(*cells, approval.message)
    return table


def _diff(lines: tuple[str, ...]) -> RenderableType:
    return Group(*map(diff_line, lines))


def _events(view: RolloutView, now: datetime) -> RenderableType:
    if not view.events:
        return Text("none")
    table = plain_table("TYPE", "REASON", "AGE", "MESSAGE")
    for event in view.events:
        times = f" (x{event.count})" if event.count > 1 else ""
        style = "yellow" if event.type == "Warning" else ""
        table.add_row(
            event.type, event.reason, age(event.at, now) + times, event.message, style=style
        )
    return table
