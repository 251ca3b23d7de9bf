"""A played release for people: rich on a terminal, plain in a pipe, Markdown for a merge request.

Invariant: the three say the same; diffs are unified diffs of YAML against the original.
"""

from collections.abc import Iterator

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from controller.api.rollout import Rollout, Step
from controller.cli.script_tools.yaml_text import diff, write_yaml
from controller.cli.terminal import diff_line
from controller.cli.views.steps import traffic_text
from controller.simulation.play import Played, RouteChange, StepPlayed


class RouteDiff(msgspec.Struct, frozen=True, rename="camel"):
    """A gateway object against its original, as a unified diff."""

    kind: str
    name: str
    what: str
    diff: tuple[str, ...]


class StepReport(msgspec.Struct, frozen=True, rename="camel"):
    """A step with its diffs."""

    step: int
    asks: str
    old_pods: int
    old_ready: int
    new_pods: int
    new_ready: int
    services: dict[str, dict[str, object]]
    routes: tuple[RouteDiff, ...] = ()
    metrics: str = ""
    problem: str = ""


class Report(msgspec.Struct, frozen=True, rename="camel"):
    """The whole report. `refusals` are admission's; `restored` says that every gateway object was restored."""

    rollout: str
    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    steps: tuple[StepReport, ...] = ()
    restored: bool = False
    left: tuple[RouteDiff, ...] = ()
    seconds: float = 0.0
    problem: str = ""

    @property
    def sound(self) -> bool:
        """The release would go through and leave nothing behind."""
        return self.restored and not self.refusals and not self.problem


def report_of(rollout: Rollout, played: Played, warnings: tuple[str, ...]) -> Report:
    """The report of a release that was played."""
    canary = rollout.spec.strategy.plan
    steps = canary.steps if canary is not None else ()
    return Report(
        rollout=str(rollout.metadata.key),
        warnings=warnings,
        steps=tuple(_step(step, steps[step.index - 1]) for step in played.steps),
        restored=not played.problem and not played.left,
        left=tuple(map(_diff, played.left)),
        seconds=played.seconds,
        problem=played.problem,
    )


def _step(played: StepPlayed, step: Step) -> StepReport:
    return StepReport(
        step=played.index,
        asks=f"{step.replicas} new pods, {traffic_text(step)}",
        old_pods=played.old_pods,
        old_ready=played.old_ready,
        new_pods=played.new_pods,
        new_ready=played.new_ready,
        services={
            item.name: {"selector": item.selector, "endpoints": item.endpoints}
            for item in played.services
        },
        routes=tuple(map(_diff, played.routes)),
        metrics=played.metrics,
        problem=played.problem,
    )


def _diff(change: RouteChange) -> RouteDiff:
    what = "made" if change.before is None else "gone" if change.after is None else "changed"
    if change.before is None or change.after is None:
        sign, shown = ("-", change.before) if change.after is None else ("+", change.after)
        lines = tuple(f"{sign}{line}" for line in write_yaml(shown or {}).splitlines())
        return RouteDiff(change.kind, change.name, what, lines)
    lines = diff(change.before, change.after, ("original", "release"))
    return RouteDiff(change.kind, change.name, what, lines[2:])


# --- for people ---------------------------------------------------------------------------------


def _pods(step: StepReport) -> str:
    return f"{step.old_pods} old ({step.old_ready} ready), {step.new_pods} new ({step.new_ready} ready)"


def _services(step: StepReport) -> Iterator[str]:
    for name, service in step.services.items():
        selector = service["selector"]
        pairs = selector.items() if isinstance(selector, dict) else ()
        text = ",".join(f"{key}={value}" for key, value in pairs)
        count = service["endpoints"]
        yield f"{name} -> {text} ({count} endpoint{'' if count == 1 else 's'})"


def _end(report: Report) -> str:
    if report.refusals:
        return "refused at admission"
    if report.problem:
        return f"stops: {report.problem}"
    if not report.restored:
        return "ends, and leaves gateway objects otherwise than they were"
    return f"ends after {report.seconds:g} s without the pauses; every gateway object is as it was"


def for_terminal(report: Report) -> RenderableType:
    """Sections with colours."""
    parts: list[RenderableType] = [Text(f"Rollout {report.rollout}", style="bold")]
    parts += [Text(f"  refused: {text}", style="red") for text in report.refusals]
    parts += [Text(f"  warning: {text}", style="yellow") for text in report.warnings]
    for step in report.steps:
        parts += [Text(""), Text(f"Step {step.step}: {step.asks}", style="bold")]
        parts.append(Text(f"  pods      {_pods(step)}"))
        parts += [Text(f"  Service   {line}") for line in _services(step)]
        parts += [part for route in step.routes for part in _route(route)]
        if step.metrics:
            parts.append(Text(f"  metrics   {step.metrics}"))
        if step.problem:
            parts.append(Text(f"  {step.problem}", style="red"))
    parts += [Text(""), Text("The end", style="bold")]
    parts.append(Text(f"  {_end(report)}", style="" if report.sound else "red"))
    parts += [part for route in report.left for part in _route(route)]
    return Group(*parts)


def _route(route: RouteDiff) -> list[RenderableType]:
    lines = list(map(diff_line, route.diff))
    return [Text(f"  {route.kind}/{route.name} {route.what}"), Padding(Group(*lines), (0, 0, 0, 4))]


def for_markdown(report: Report) -> str:
    """Headings and fenced diffs."""
    lines = [f"# Rollout {report.rollout}", ""]
    lines += [f"- refused: {text}" for text in report.refusals]
    lines += [f"- warning: {text}" for text in report.warnings]
    for step in report.steps:
        lines += ["", f"## Step {step.step}: {step.asks}", "", f"- pods: {_pods(step)}"]
        lines += [f"- Service {line}" for line in _services(step)]
        lines += [f"- metrics: {step.metrics}"] if step.metrics else []
        lines += [f"- **{step.problem}**"] if step.problem else []
        lines += [line for route in step.routes for line in _fenced(route)]
    lines += ["", "## The end", "", _end(report)]
    lines += [line for route in report.left for line in _fenced(route)]
    return "\n".join(lines)


def _fenced(route: RouteDiff) -> list[str]:
    return ["", f"{route.kind} `{route.name}` {route.what}:", "", "```diff", *route.diff, "```"]
