"""Draws the cluster at one moment: pods by revision, routes compared with the original, and the present wait.

Invariant: the same moment gives the same picture, in not more lines than a small terminal has. It must do no I/O.
"""

from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from demo.routes import Line, difference, shares
from demo.world import (
    DESTINATION_RULES,
    ROLLOUTS,
    VIRTUAL_SERVICES,
    State,
    find,
    home_page,
    is_ready,
    labels_of,
    name_of,
    pods,
)
from localcluster.api import JsonObject
from localcluster.history import Kind

BASE, CANARY, MUTED = "cyan", "yellow", "bright_black"
SIGNS = {"+": "green", "-": "red", " ": ""}
BAR_CELLS = 30
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
TURNS_PER_SECOND = 10


@dataclass(frozen=True, slots=True)
class Moment:
    """The input of the picture: the cluster, the original routes, and the event that the story waits for."""

    state: State
    original: State
    waiting_for: str = ""
    seconds: float = 0.0


def draw(moment: Moment) -> RenderableType:
    """The whole picture."""
    parts: list[RenderableType] = [pod_table(moment.state), Text(""), *share_bars(moment.state)]
    parts += [Text(""), route_differences(moment)]
    if moment.waiting_for:
        parts += [Text(""), waiting_line(moment)]
    return Padding(Group(*parts), (0, 0, 0, 2), expand=False)


def pod_table(state: State) -> Table:
    """One line per pod, old ones first: name, page (that is the revision), labels, state."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=MUTED)
    for title in ("pod", "shows", "version", "batch", "state"):
        table.add_column(title, no_wrap=True)
    for pod in pods(state):
        labels = labels_of(pod)
        new = home_page(pod).endswith("canary")
        table.add_row(
            Text(name_of(pod), style=CANARY if new else BASE),
            home_page(pod).removeprefix("nginx-configmap-"),
            labels.get("version", ""),
            labels.get("rollouts.kruise.io/rollout-batch-id", "–"),
            pod_state(pod),
        )
    if not table.rows:
        table.add_row(Text("none yet", style=MUTED))
    return table


def pod_state(pod: JsonObject) -> Text:
    """A pod's state as a coloured word."""
    if "deletionTimestamp" in pod["metadata"]:
        return Text("○ leaving", style="red")
    return Text("● ready", style="green") if is_ready(pod) else Text("◌ starting", style=CANARY)


def share_bars(state: State) -> list[Text]:
    """One bar per rule: the targets of its requests and their shares."""
    rules = _spec(state, VIRTUAL_SERVICES, "nginx-vs").get("http") or ()
    bars = []
    for rule in rules:
        found = list(shares([rule]))
        bar = Text("")
        for share in found:
            cells = round(BAR_CELLS * share.percent / 100)
            bar.append("█" * cells, style=_color(share.subset))
        words = ", ".join(f"{share.percent} % {share.subset}" for share in found)
        bars.append(bar + Text(f"  {found[0].when or 'requests'} → {words}"))
    return bars


def route_differences(moment: Moment) -> Table:
    """VirtualService and DestinationRule side by side, as differences against the original."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style=MUTED)
    kinds = ((VIRTUAL_SERVICES, "nginx-vs"), (DESTINATION_RULES, "nginx-dr"))
    cells = []
    for kind, name in kinds:
        original, current = (
            _spec(world, kind, name) for world in (moment.original or moment.state, moment.state)
        )
        lines = difference(original, current)
        changed = any(line.sign != " " for line in lines)
        state = "against the original" if changed else "is the original"
        table.add_column(f"{name} {state}", no_wrap=True, min_width=34)
        cells.append(colored(lines))
    table.add_row(*cells)
    return table


def colored(lines: list[Line]) -> Text:
    """The lines of a difference in their colours."""
    text = Text("")
    for position, line in enumerate(lines):
        end = "" if position == len(lines) - 1 else "\n"
        text.append(f"{line.sign} {line.text}{end}", style=SIGNS[line.sign])
    return text


def waiting_line(moment: Moment) -> Text:
    """The event that the story waits for, the obstacle, and the seconds that it has waited."""
    turn = SPINNER[int(moment.seconds * TURNS_PER_SECOND) % len(SPINNER)]
    line = Text(f"{turn} ", style=CANARY)
    line.append(f"waiting for {moment.waiting_for}", style="bold")
    return line.append(f" · {obstacle(moment)} · {moment.seconds:.0f} s", style=MUTED)


def obstacle(moment: Moment) -> str:
    """The obstacle, from the objects that an onlooker can read."""
    found = pods(moment.state)
    if any("deletionTimestamp" in pod["metadata"] for pod in found):
        return "a pod leaves"
    if not all(map(is_ready, found)):
        return "a pod starts"
    if not any(labels_of(pod).get("version") == "canary" for pod in found):
        return "the controllers are at work"
    canary = (find(moment.state, ROLLOUTS, "rollouts-demo").get("status") or {}).get("canaryStatus")
    where = (canary or {}).get("currentStepState")
    if where == "StepTrafficRouting":
        return "gateways get a moment to learn of the new pod"
    if where == "Completed" and not routes_changed(moment):
        return "no route leads to the canary pod; it stays a moment"
    return str(where or "the controllers are at work")


def rollout_words(state: State) -> list[str]:
    """Phase, message and conditions of the Rollout; shown if the story cannot continue."""
    status = find(state, ROLLOUTS, "rollouts-demo").get("status") or {}
    conditions = status.get("conditions") or ()
    return [
        f"Rollout {status.get('phase', 'without a status')}: {status.get('message', '')}",
        *(f"{c['type']}={c['status']} {c['reason']}: {c.get('message', '')}" for c in conditions),
    ]


def routes_changed(moment: Moment) -> bool:
    """Whether the VirtualService differs from its original."""
    original, current = (
        _spec(world, VIRTUAL_SERVICES, "nginx-vs") for world in (moment.original, moment.state)
    )
    return current != original


def _spec(state: State, kind: Kind, name: str) -> JsonObject:
    spec: JsonObject = find(state, kind, name).get("spec", {})
    return spec


def _color(subset: str) -> str:
    return CANARY if subset == "canary" else BASE
