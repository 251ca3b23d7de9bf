"""Shows the story: scenes, commands, the moving picture, the results of the checks.

Invariant: on a terminal the picture moves until the awaited state is there, and its last state stays; in a pipe there
are plain lines only. It must not decide anything.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path

from rich.console import Console, RenderableType
from rich.live import Live
from rich.rule import Rule
from rich.text import Text

from demo.claims import Claim
from demo.frame import MUTED, Moment, draw, rollout_words

REFRESH_SECONDS = 0.1
READING_SECONDS = 2.0
"""Seconds for which a picture stays on a terminal before the story continues."""

Picture = Callable[[float], Moment]


class Screen:
    """The output of the demo."""

    def __init__(self, console: Console, begun: float) -> None:
        self.console = console
        self._begun = begun
        self._scenes = 0

    def scene(self, title: str, explanation: str = "") -> None:
        """Open a scene."""
        self._scenes += 1
        self.console.print()
        elapsed = f"{time.monotonic() - self._begun:.0f} s"
        self._rule(f"[bold]{self._scenes} · {title}[/] [{MUTED}]· {elapsed}[/]")
        if explanation:
            self._line(Text(explanation))

    def command(self, line: str, output: str = "") -> None:
        """Show a command and its output."""
        self._line(Text(f"$ {line}", style="bold"))
        for row in output.splitlines():
            self._line(Text(f"  {row}", style=MUTED))

    def note(self, text: str) -> None:
        """Show lines without line breaks of our own: people copy them."""
        self.console.print(Text(text), highlight=False, soft_wrap=True)

    @contextlib.asynccontextmanager
    async def following(self, picture: Picture, waiting_for: str) -> AsyncIterator[None]:
        """Show the picture while the block waits; leave the last one standing."""
        begun = time.monotonic()

        def moment() -> Moment:
            return picture(time.monotonic() - begun)

        if not self.console.is_terminal:
            self._line(Text(f"waiting for {waiting_for} …"))
        moving = self._moving if self.console.is_terminal else _still
        try:
            async with moving(moment):
                yield
        except Exception:
            self._picture(draw(moment()))
            for line in rollout_words(moment().state):
                self._line(Text(line, style="red"))
            raise
        self._picture(draw(last(moment())))
        self._line(Text(f"reached after {time.monotonic() - begun:.1f} s", style=MUTED))

    @contextlib.asynccontextmanager
    async def waiting(self, for_what: str) -> AsyncIterator[None]:
        """Print the present wait, without a picture, and its duration."""
        begun = time.monotonic()
        shown = self.console.status(f"waiting for {for_what}")
        with shown if self.console.is_terminal else contextlib.nullcontext():
            yield
        self._line(Text(f"{for_what}: after {time.monotonic() - begun:.1f} s", style=MUTED))

    @contextlib.asynccontextmanager
    async def _moving(self, moment: Callable[[], Moment]) -> AsyncIterator[None]:
        with Live(draw(moment()), console=self.console, transient=True, auto_refresh=False) as live:

            async def redraw() -> None:
                while True:
                    live.update(draw(moment()), refresh=True)
                    await asyncio.sleep(REFRESH_SECONDS)

            task = asyncio.create_task(redraw())
            try:
                yield
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    def claims(self, claims: Iterable[Claim]) -> None:
        """Show the results of the checks; a contradiction in full."""
        for claim in claims:
            mark, style = ("✓", "green") if claim.holds else ("✗", "bold red")
            self._line(Text(f"{mark} ", style=style) + Text(claim.text, style=""))
            for line in claim.contradiction.splitlines():
                self._line(Text(f"    {line}", style="red"))

    def timeline(self, entries: Iterable[tuple[int, str]]) -> None:
        """Show the changes, by the cluster's own revisions."""
        for revision, text in entries:
            self._line(Text(f"{revision:>6}  ", style=MUTED) + Text(text, style=""))

    def verdict(self, claims: Iterable[Claim]) -> None:
        """Print the outcome and the duration."""
        all_of_them = list(claims)
        wrong = [claim for claim in all_of_them if not claim.holds]
        seconds = f"{time.monotonic() - self._begun:.0f} s"
        self.console.print()
        if wrong:
            self._line(
                Text(f"{len(wrong)} of {len(all_of_them)} checks failed, {seconds}", "bold red")
            )
        else:
            self._line(Text(f"{len(all_of_them)} checks passed, {seconds}", "bold green"))

    async def let_read(self) -> None:
        """Give a person time to look; a pipe needs none."""
        if self.console.is_terminal:
            await asyncio.sleep(READING_SECONDS)

    def failure(self, error: Exception, logs: Mapping[Path, str]) -> None:
        """Print the error, and the last log lines of the processes."""
        self._line(Text(f"✗ {error}", style="bold red"))
        for path, text in logs.items():
            self._line(Text(f"the end of {path}:", style="bold"))
            self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _picture(self, picture: RenderableType) -> None:
        if self.console.is_terminal:
            self.console.print(picture)
            return
        with self.console.capture() as drawn:
            self.console.print(picture)
        for line in drawn.get().splitlines():
            self._line(Text(line.rstrip()))

    def _rule(self, title: str) -> None:
        if self.console.is_terminal:
            self.console.print(Rule(title, align="left", style=MUTED))
        else:
            self._line(Text.from_markup(f"== {title}"))

    def _line(self, text: Text) -> None:
        # A pipe gets each line whole; a terminal gets it broken between words.
        self.console.print(text, highlight=False, soft_wrap=not self.console.is_terminal)


def last(moment: Moment) -> Moment:
    """The moment without the line about waiting: the wait is over."""
    return Moment(moment.state, moment.original)


@contextlib.asynccontextmanager
async def _still(_: Callable[[], Moment]) -> AsyncIterator[None]:
    yield
