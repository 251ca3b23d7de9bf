"""Shows long work to a person: which phase, how far, how many seconds, how many are left.

Why it exists: a first build takes minutes, and silence looks like a hang. Invariant: on a terminal one live line, in a
pipe plain lines, a few per phase; no time is estimated before a part of the work is done. It must not decide anything:
callers report, this prints.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

PLAIN_INTERVAL_SECONDS = 15.0
SEEN_ENOUGH = 0.05
"""Share of the work after which its pace gives a usable estimate."""


def time_left(seconds: float, done: float, total: float | None) -> str:
    """The time left at the pace so far, in words; empty while it is unknown."""
    if not total or done < SEEN_ENOUGH * total or done >= total:
        return ""
    left = seconds * (total - done) / done
    if left < 60:
        return "less than a minute left"
    return f"about {round(left / 60)} min left"


class Phase(Protocol):
    """One phase of long work."""

    def advance(self, detail: str = "", weight: float = 1) -> None:
        """Report additional progress."""


class Reporter(Protocol):
    """The progress messages of long work."""

    def note(self, text: str) -> None:
        """Print one line."""

    def phase(self, name: str, total: float | None = None) -> AbstractContextManager[Phase]:
        """Open a phase whose weights add up to `total`, None if that is not known."""


class SilentPhase:
    """A phase nobody looks at."""

    def advance(self, detail: str = "", weight: float = 1) -> None:
        """Drop the report."""


class SilentReporter:
    """For fixtures: no output."""

    def note(self, text: str) -> None:
        """Drop the line."""

    @contextmanager
    def phase(self, name: str, total: float | None = None) -> Iterator[Phase]:
        """Open a phase that drops its reports."""
        yield SilentPhase()


class ConsoleReporter:
    """Writes to a console: a live bar on a terminal, plain lines otherwise."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def note(self, text: str) -> None:
        """Print one line."""
        self._console.print(text, highlight=False, soft_wrap=True)

    @contextmanager
    def phase(self, name: str, total: float | None = None) -> Iterator[Phase]:
        """Show a phase until the block ends, then one line with its seconds."""
        begun = time.monotonic()
        if self._console.is_terminal:
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:.0f} %"),
                TimeElapsedColumn(),
                TextColumn("{task.fields[left]}"),
            )
            with Progress(*columns, console=self._console, transient=True) as progress:
                task = progress.add_task(name, total=total, left="")
                yield _BarPhase(progress, task, name, total)
        else:
            self.note(f"{name} …")
            yield _PlainPhase(self, name, total)
        self.note(f"{name}: {time.monotonic() - begun:.1f} s")


class _BarPhase:
    def __init__(self, progress: Progress, task: TaskID, name: str, total: float | None) -> None:
        self._progress, self._task, self._name, self._total = progress, task, name, total
        self._done = 0.0
        self._begun = time.monotonic()

    def advance(self, detail: str = "", weight: float = 1) -> None:
        self._done += weight
        text = f"{self._name} {detail[-48:]}" if detail else self._name
        left = time_left(time.monotonic() - self._begun, self._done, self._total)
        self._progress.update(self._task, advance=weight, description=text, left=left)


class _PlainPhase:
    def __init__(self, reporter: ConsoleReporter, name: str, total: float | None) -> None:
        self._reporter, self._name, self._total = reporter, name, total
        self._done = 0.0
        self._begun = self._told = time.monotonic()

    def advance(self, detail: str = "", weight: float = 1) -> None:
        self._done += weight
        now = time.monotonic()
        if now - self._told >= PLAIN_INTERVAL_SECONDS:
            self._told = now
            self._reporter.note(self._line(now - self._begun))

    def _line(self, seconds: float) -> str:
        parts = [f"{seconds:.0f} s"]
        if self._total:
            parts = [f"{100 * self._done / self._total:.0f} %", *parts]
        parts += [left] if (left := time_left(seconds, self._done, self._total)) else []
        return f"{self._name}: {', '.join(parts)}"
