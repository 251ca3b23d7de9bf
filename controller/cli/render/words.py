"""Ages, states and colours: how small things are written everywhere."""

from datetime import datetime

from rich.text import Text

from controller.cli.durations import span
from controller.cli.views.view import Summary
from controller.cli.views.waiting import APPROVAL, NOTHING, wait_verb

NOBODY = "(not recorded)"
"""The author of an approval that no admission saw; in the place of a user name, and none itself."""


def age(since: datetime | None, now: datetime) -> str:
    """How long ago, or `-`."""
    return "-" if since is None else span(now - since)


def lasting(since: datetime | None, now: datetime) -> str:
    """`  for 90s`; nothing in the first second, or if the instant is not known."""
    length = age(since, now)
    return "" if length in ("-", "0s") else f"  for {length}"


def counted(number: int, thing: str) -> str:
    """`1 step`, `3 steps`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def ends(until: datetime, now: datetime) -> str:
    """When a timer ends."""
    left = age(now, until)
    return "ends now" if left == "0s" else f"ends in {left}"


def step_of(summary: Summary) -> str:
    """`2/3`, or `-` before the first release."""
    return f"{summary.step}/{summary.steps}" if summary.step else "-"


def style_of(summary: Summary) -> str:
    """Red: a person has to change something. Yellow: the release waits for a person. Green: at rest."""
    if summary.stalled:
        return "bold red"
    if summary.waits_for == APPROVAL or (summary.paused and summary.phase == "Progressing"):
        return "yellow"
    if summary.waits_for == NOTHING:
        return "green"
    return "cyan"


def hint(summary: Summary, program: str) -> str:
    """The command with which the release would continue; empty when there is none."""
    if summary.stalled and not summary.may_go_on:
        return ""
    if summary.may_go_on or summary.waits_for == APPROVAL:
        return f"{program} approve {summary.name} -n {summary.namespace}"
    if summary.paused and summary.phase == "Progressing":
        return f"{program} resume {summary.name} -n {summary.namespace}"
    return ""


def waiting_text(summary: Summary, program: str = "") -> Text:
    """The present wait, with the command that ends it."""
    text = Text(f"{wait_verb(summary.stalled)} ", style="dim")
    text.append(summary.waits_for, style=style_of(summary))
    if program and (command := hint(summary, program)):
        text.append(f"  ({command})", style="dim")
    return text


def change_line(summary: Summary) -> str:
    """One line per change, without ages: two equal lines mean that nothing happened."""
    parts = [f"{summary.namespace}/{summary.name}", summary.phase or "-"]
    if summary.step and summary.phase == "Progressing":
        pods = f"{summary.canary_ready_replicas}/{summary.canary_replicas} new pods ready"
        parts += [f"step {step_of(summary)}", summary.state, pods]
    return f"{'  '.join(parts)}  {wait_verb(summary.stalled)} {summary.waits_for}"
