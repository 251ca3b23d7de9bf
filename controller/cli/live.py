"""A view that follows the cluster: redrawn on a terminal, one line per change in a pipe.

Invariant: the state changes by watches alone; the terminal is redrawn every second only because ages grow.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Protocol

from rich.console import RenderableType
from rich.live import Live

from controller.cli.output import terminal
from controller.cli.terminal import one_line, say

REDRAW = 1.0
"""Seconds between two drawings while nothing happens."""


class Picture(Protocol):
    """The view that is drawn again and again."""

    def draw(self, now: datetime) -> RenderableType:
        """The present picture, for a terminal."""
        ...

    def lines(self, now: datetime) -> tuple[str, ...]:
        """For a pipe; each is printed when it was not there the time before."""
        ...


class ChangeSignal:
    """Rings when something changed; several rings before the next wait count as one."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wake the waiter: something changed."""
        self._event.set()

    async def wait(self) -> None:
        """Wait for the next ring."""
        await self._event.wait()
        self._event.clear()


Follow = Callable[[Callable[[], None]], Awaitable[None]]
"""Keeps the shown facts up to date and calls the given function at every change, until cancelled."""


async def watch(picture: Picture, follow: Follow) -> None:
    """Show `picture` until interrupted."""
    changed = ChangeSignal()
    console = terminal()
    async with asyncio.TaskGroup() as group:
        group.create_task(_follow(follow, changed))
        if console is None:
            await _print_changes(picture, changed)
        else:
            with Live(console=console, auto_refresh=False) as live:
                await _redraw(picture, changed, live)


async def _follow(follow: Follow, changed: ChangeSignal) -> None:
    await follow(changed.ring)


async def _redraw(picture: Picture, changed: ChangeSignal, live: Live) -> None:
    while True:
        live.update(picture.draw(datetime.now(UTC)), refresh=True)
        try:
            async with asyncio.timeout(REDRAW):
                await changed.wait()
        except TimeoutError:
            continue


async def _print_changes(picture: Picture, changed: ChangeSignal) -> None:
    printed: tuple[str, ...] = ()
    while True:
        now = datetime.now(UTC)
        lines = picture.lines(now)
        for line in lines:
            if line not in printed:
                say(f"{now:%H:%M:%S}  {one_line(line)}")
        printed = lines
        await changed.wait()
