"""Shows long work to a person: which phase, how far, how many seconds.

Why it exists: a first build takes minutes, and silence looks like a hang. Invariant: on a terminal one live line,
in a pipe plain lines, a few per phase. It must not decide anything: callers report, this prints.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

PLAIN_INTERVAL_SECONDS = 15.0


class Phase(Protocol):
    """One phase of long work."""

    def advance(self, detail: str = "") -> None:
        """Report that one more piece is done."""


class Reporter(Protocol):
    """What long work tells while it runs."""

    def note(self, text: str) -> None:
        """Print one line."""

    def phase(self, name: str, total: int | None = None) -> AbstractContextManager[Phase]:
        """Open a phase of `total` pieces, None where the number is not known."""


class SilentPhase:
    """A phase nobody looks at."""

    def advance(self, detail: str = "") -> None:
        """Drop the report."""


class SilentReporter:
    """For fixtures: no output."""

    def note(self, text: str) -> None:
        """Drop the line."""

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Phase]:
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
    def phase(self, name: str, total: int | None = None) -> Iterator[Phase]:
        """Show a phase until the block ends, then one line with its seconds."""
        begun = time.monotonic()
        if self._console.is_terminal:
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
            )
            with Progress(*columns, console=self._console, transient=True) as progress:
                yield _BarPhase(progress, progress.add_task(name, total=total), name)
        else:
            self.note(f"{name} …")
            yield _PlainPhase(self, name, total)
        self.note(f"{name}: {time.monotonic() - begun:.1f} s")


class _BarPhase:
    def __init__(self, progress: Progress, task: TaskID, name: str) -> None:
        self._progress, self._task, self._name = progress, task, name

    def advance(self, detail: str = "") -> None:
        text = f"{self._name} {detail[-48:]}" if detail else self._name
        self._progress.update(self._task, advance=1, description=text)


class _PlainPhase:
    def __init__(self, reporter: ConsoleReporter, name: str, total: int | None) -> None:
        self._reporter, self._name, self._total = reporter, name, total
        self._done = 0
        self._begun = self._told = time.monotonic()

    def advance(self, detail: str = "") -> None:
        self._done += 1
        now = time.monotonic()
        if now - self._told >= PLAIN_INTERVAL_SECONDS:
            self._told = now
            of = f" of {self._total}" if self._total else ""
            self._reporter.note(f"{self._name}: {self._done}{of}, {now - self._begun:.0f} s")
