"""The live view, with a world that changes when the test says so."""

import asyncio
import io
from collections.abc import Callable
from datetime import datetime

import pytest
from rich.console import Console
from rich.text import Text

from controller.cli import live


class World:
    """A picture and what it shows; `drawn` is set at every drawing."""

    def __init__(self) -> None:
        self.shown: tuple[str, ...] = ("one", "two")
        self.drawn = asyncio.Event()
        self.ring: Callable[[], None] | None = None
        self.followed = asyncio.Event()

    def draw(self, now: datetime) -> Text:
        self.drawn.set()
        return Text(" ".join(self.shown))

    def lines(self, now: datetime) -> tuple[str, ...]:
        self.drawn.set()
        return self.shown

    async def follow(self, changed: Callable[[], None]) -> None:
        self.ring = changed
        self.followed.set()
        await asyncio.Event().wait()

    async def change(self, *lines: str) -> None:
        await self.followed.wait()
        await self.drawn.wait()
        self.drawn.clear()
        self.shown = lines
        assert self.ring is not None
        self.ring()
        await self.drawn.wait()


async def play(world: World) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(live.watch(world, world.follow))
        await world.change("one", "three")
        await world.change("one", "three")
        task.cancel()


async def test_in_a_pipe_only_new_lines_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "terminal", lambda: None)
    await play(World())
    printed = [line.split("  ", 1)[1] for line in capsys.readouterr().out.splitlines()]
    assert printed == ["one", "two", "three"]


async def test_in_a_pipe_a_change_is_one_line_with_any_text_of_an_object(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "terminal", lambda: None)
    world = World()
    world.shown = ("waits for a pod: no\n08:00:00  shop/web  Healthy",)
    await play(world)
    printed = capsys.readouterr().out.splitlines()
    first = printed[0].split("  ", 1)[1]
    assert first == "waits for a pod: no␊08:00:00  shop/web  Healthy"
    assert len(printed) == 3


async def test_on_a_terminal_the_view_is_redrawn_at_changes_and_as_time_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=40)
    monkeypatch.setattr(live, "terminal", lambda: console)
    monkeypatch.setattr(live, "REDRAW", 0.001)
    world = World()
    await play(world)
    assert isinstance(console.file, io.StringIO)
    assert "one three" in console.file.getvalue()


async def test_a_failure_to_follow_ends_the_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "terminal", lambda: None)

    async def broken(_: Callable[[], None]) -> None:
        raise RuntimeError("gone")

    with pytest.raises(ExceptionGroup):
        await live.watch(World(), broken)
