"""Draws a release under traffic: the present shares, the share that the step asks for, the lost requests.

Invariant: the same counts give the same picture, in a few lines per release. It must do no I/O.
"""

from collections import Counter, deque
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from demo.traffic.release import Release, inner_status
from demo.traffic.report import Report, complaints
from demo.traffic.scenarios import MARKED, NEW, OLD, PLAIN, THIRD

COLOURS = {OLD: "cyan", NEW: "yellow", THIRD: "magenta"}
MUTED = "bright_black"
CELLS = 40
REMEMBERED = 8
"""The number of earlier pictures that the bar covers: about two seconds."""

Counts = Counter[tuple[str, str]]


@dataclass(slots=True)
class Board:
    """The moving picture of some releases."""

    releases: list[Release]
    _seen: deque[list[Counts]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def draw(self) -> RenderableType:
        """Return the picture of now, and remember the counts for the next ones."""
        now = [Counter(release.tally.whole.answered) for release in self.releases]
        before = self._seen[0] if self._seen else [Counter() for _ in now]
        self._seen.append(now)
        return Group(
            *(
                one(release, counts - past)
                for release, counts, past in zip(self.releases, now, before, strict=True)
            )
        )


def one(release: Release, recent: Counts) -> RenderableType:
    """Return the lines of one release."""
    grid = Table.grid(padding=(0, 2))
    head = Text(f"{release.scenario.name} ", style="bold")
    head.append(f"{release.scenario.kind}, {release.scenario.style.value} style", style=MUTED)
    grid.add_row(head, Text(release.tally.stage or "waiting"), Text(step_words(release), MUTED))
    for sort in (PLAIN, MARKED):
        grid.add_row(
            Text(f"  {sort} requests", style=MUTED), bar(recent, sort), legend(recent, sort)
        )
    failed = release.tally.whole.failed
    lost = Text(f"{failed} lost", style="bold red" if failed else "green")
    grid.add_row(Text(""), Text(f"{release.tally.requests} requests in all"), lost)
    return grid


def bar(counts: Counts, sort: str) -> Text:
    """Return the versions that recently answered a sort of request, as one line of cells."""
    whole = sum(number for (of, _), number in counts.items() if of == sort)
    line = Text()
    for image, colour in COLOURS.items():
        line.append("█" * round(CELLS * counts[sort, image] / max(whole, 1)), style=colour)
    return line or Text("·" * CELLS, style=MUTED)


def legend(counts: Counts, sort: str) -> Text:
    """Return the shares as numbers."""
    whole = sum(number for (of, _), number in counts.items() if of == sort)
    words = Text()
    for image, colour in COLOURS.items():
        if number := counts[sort, image]:
            words.append(f"{image.removeprefix('shop:')} {number / whole:.1%}  ", style=colour)
    return words


def step_words(release: Release) -> str:
    """Return the Rollout's state in a few words."""
    status = release.objects["Rollout"].get("status") or {}
    canary = inner_status(status)
    if status.get("phase") != "Progressing" or not canary:
        return str(status.get("phase", ""))
    index = canary.get("currentStepIndex", 0)
    steps = release.scenario.steps
    asked = steps[index - 1] if 0 < index <= len(steps) else None
    weight = "" if asked is None or asked.traffic is None else f" ({asked.traffic} %)"
    weight = " (marked only)" if asked is not None and asked.marked else weight
    return f"step {index} of {len(steps)}{weight}: {canary.get('currentStepState', '')}"


def verdict(report: Report, least: int) -> RenderableType:
    """Return the results of a finished release, section by section."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2), header_style=MUTED)
    for title in ("stretch", "requests", "answered by", "asked", "seen"):
        table.add_column(title, justify="right" if title in ("asked", "seen") else "left")
    for seen in report.shares:
        table.add_row(
            seen.stretch,
            f"{seen.requests} {seen.sort}",
            seen.image,
            f"{seen.expected:.0%}",
            f"{seen.share:.2%}",
        )
    wrong = complaints(report, least)
    mark = Text("✗ ", style="bold red") if wrong else Text("✓ ", style="green")
    end = mark + Text(
        f"{report.scenario}: {report.requests} requests in {report.seconds:.0f} s, {report.failed} lost"
    )
    return Group(table, end, *(Text(f"    {line}", style="red") for line in wrong))
