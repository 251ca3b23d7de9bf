"""The live tree: one Rollout with its revisions, pods, Services, routes, and the next steps."""

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby

from rich.text import Text
from rich.tree import Tree

from controller.cli.render.checks import check_line
from controller.cli.render.gates import add_gates
from controller.cli.render.words import age, counted, ends, lasting, step_of, style_of, waiting_text
from controller.cli.views.given_up import held_until
from controller.cli.views.view import (
    PodView,
    RevisionView,
    Role,
    RolloutView,
    RouteView,
    ServiceView,
    SharedRoutesView,
)

MAX_READY_PODS = 8
"""Ready pods of a batch that are named; of more, only the number is interesting."""

_ROLE_STYLES = {Role.STABLE: "green", Role.CANARY: "yellow", Role.OTHER: "dim"}


def rollout_tree(view: RolloutView, now: datetime, program: str = "") -> Tree:
    """Everything at a glance."""
    tree = Tree(headline(view, now), guide_style="dim")
    if view.unattended:
        tree.add(Text(view.unattended, style="bold red"))
    if view.overrun:
        tree.add(Text(view.overrun, style="bold red"))
    tree.add(waiting_text(view.summary, program))
    if view.given_up:
        tree.add(Text(f"{view.given_up}; {held_until(view.summary.name)}", style="red"))
    for timer in view.timers:
        tree.add(f"{timer.what} {ends(timer.until, now)}")
    add_gates(tree, view.gates, now)
    for check in view.checks:
        tree.add(check_line(check, now))
    _add_revisions(tree, view, now)
    _add_traffic(tree, view)
    if view.next:
        tree.add(Text("next: ", style="dim").append(view.next))
    for gap in view.gaps:
        tree.add(Text(f"not shown: {gap}", style="red"))
    return tree


def _add_traffic(tree: Tree, view: RolloutView) -> None:
    if view.services:
        branch = tree.add("Services")
        for service in view.services:
            branch.add(_service(service, view))
    if view.routes:
        branch = tree.add("Routes")
        for route in view.routes:
            branch.add(_route(route))
    if view.shared_routes is not None:
        tree.add("Shared routes").add(_shared(view.shared_routes))


def headline(view: RolloutView, now: datetime) -> Text:
    """Name, phase, step and since when."""
    summary = view.summary
    text = Text(f"Rollout {summary.namespace}/{summary.name}  ", style="bold")
    text.append(summary.phase or "not looked at yet", style=style_of(summary))
    if summary.phase == "Progressing":
        text.append(f"  step {step_of(summary)}  {summary.state}", style="default")
    return text.append(lasting(summary.since, now), style="dim")


def _add_revisions(tree: Tree, view: RolloutView, now: datetime) -> None:
    size = "" if view.replicas is None else f"  {counted(view.replicas, 'replica')}"
    branch = tree.add(f"{view.summary.workload}{size}")
    if not view.revisions:
        branch.add(
            f"new pods: {view.summary.canary_replicas}, ready {view.summary.canary_ready_replicas}"
        )
    for revision in view.revisions:
        part = branch.add(_revision(revision))
        for batch, pods in groupby(revision.pods, key=lambda pod: pod.batch):
            inner = part.add(f"batch {batch}") if batch else part
            _add_pods(inner, tuple(pods), now)


def _revision(revision: RevisionView) -> Text:
    text = Text(revision.role.value, style=_ROLE_STYLES[revision.role])
    known = revision.revision or "no pods yet"
    text.append(f" {revision.images or known}", style="bold")
    if revision.images and revision.revision:
        text.append(f" ({revision.revision})", style="default")
    text.append(f"  {counted(len(revision.pods), 'pod')}, {revision.ready} ready", style="default")
    if revision.wanted is not None:
        text.append(f", {revision.wanted} wanted", style="default")
    return text


def _add_pods(branch: Tree, pods: tuple[PodView, ...], now: datetime) -> None:
    ready = [pod for pod in pods if pod.ready]
    shown: Iterable[PodView] = pods
    if len(ready) > MAX_READY_PODS:
        branch.add(Text(f"{len(ready)} pods ready", style="green"))
        shown = [pod for pod in pods if not pod.ready]
    for pod in shown:
        state = "ready" if pod.ready else pod.because or "not ready"
        line = Text(f"{pod.name}  ").append(state, style="green" if pod.ready else "red")
        branch.add(line.append(f"  {age(pod.since, now)}", style="dim"))


def _service(service: ServiceView, view: RolloutView) -> Text:
    if not service.exists:
        return Text(f"{service.name}  does not exist", style="red")
    roles = {revision.revision: revision.role for revision in view.revisions}
    if service.pinned_to:
        role = roles.get(service.pinned_to)
        target = f"pinned to {role.value + ' ' if role is not None else ''}{service.pinned_to}"
    else:
        target = "as its owner wrote it"
    text = Text(f"{service.name}  {target}  ")
    if service.endpoints is None:
        return text.append("endpoints are not known", style="dim")
    ready = counted(service.endpoints, "ready endpoint")
    return text.append(ready, style="default" if service.endpoints else "red")


def _route(route: RouteView) -> Text:
    text = Text(f"{route.kind}/{route.name}  ")
    text.append(route.state, style="red" if route.problem else "default")
    if route.shares:
        text.append("  " + " | ".join(route.shares), style="cyan")
    if route.diff:
        text.append(f"  {_size(route.diff)} against the original", style="dim")
        if route.original_shares and route.original_shares != route.shares:
            text.append(f" ({' | '.join(route.original_shares)})", style="dim")
    return text


def _shared(shared: SharedRoutesView) -> Text:
    """The TrafficRouting, and whether it leads to the new pods."""
    text = Text(f"TrafficRouting/{shared.name}  {shared.phase}  ")
    if shared.problem:
        return text.append(f"{shared.reason}: {shared.problem}", style="red")
    return text.append(
        "leads to the new pods" if shared.routed else "leads to the stable pods",
        style="cyan" if shared.routed else "default",
    )


def _size(diff: tuple[str, ...]) -> str:
    added = sum(line.startswith("+") for line in diff)
    removed = sum(line.startswith("-") for line in diff)
    return f"+{added} -{removed} lines"
