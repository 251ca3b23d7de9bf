"""The parts of a process live and die together, in order. Times are virtual."""

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable

import pytest

from controller.errors import LostLease
from controller.runtime.supervisor import (
    HARD_EXIT_CODE,
    Part,
    Supervisor,
    stopping_on_signals,
)
from tests.component.runtime.virtual_time import now, virtual_time


class Diary:
    """Parts that write down when they start and stop."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def part(self, name: str, stopping: float = 0.0) -> Part:
        async def run() -> None:
            self.lines.append(f"{name} starts")
            try:
                await asyncio.Event().wait()
            finally:
                if stopping:
                    await asyncio.sleep(stopping)
                self.lines.append(f"{name} stops")

        return Part(name, run)


def failing(failure: Exception | None) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        await asyncio.sleep(1)
        if failure:
            raise failure

    return run


@virtual_time
async def test_parts_stop_in_reverse_order_each_before_the_next() -> None:
    diary, stop = Diary(), asyncio.Event()
    parts = [diary.part("probes"), diary.part("watches", 2), diary.part("workers", 5)]
    asyncio.get_running_loop().call_later(10, stop.set)
    await Supervisor(parts, stop).run()
    assert diary.lines == [
        "probes starts",
        "watches starts",
        "workers starts",
        "workers stops",
        "watches stops",
        "probes stops",
    ]
    assert now() == pytest.approx(17)


@virtual_time
async def test_one_failing_part_ends_all_and_is_reported() -> None:
    diary = Diary()
    parts = [diary.part("probes"), Part("broken", failing(ZeroDivisionError("oops")))]
    with pytest.raises(ExceptionGroup) as caught:
        await Supervisor(parts, asyncio.Event()).run()
    assert [type(failure) for failure in caught.value.exceptions] == [ZeroDivisionError]
    assert diary.lines[-1] == "probes stops"


@virtual_time
async def test_a_part_that_simply_ends_is_a_failure() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await Supervisor([Part("short", failing(None))], asyncio.Event()).run()
    assert "short ended by itself" in str(caught.value.exceptions[0])


@virtual_time
async def test_two_parts_of_one_name_are_refused() -> None:
    diary = Diary()
    with pytest.raises(ValueError, match="name of its own"):
        Supervisor([diary.part("a"), diary.part("a")], asyncio.Event())


@virtual_time
async def test_being_cancelled_stops_the_parts_too() -> None:
    diary = Diary()
    task = asyncio.create_task(Supervisor([diary.part("a")], asyncio.Event()).run())
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert diary.lines == ["a starts", "a stops"]


async def test_a_lost_lease_ends_the_process_even_if_a_part_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("controller.runtime.supervisor.HARD_EXIT_AFTER", 0.05)
    exits: list[int] = []
    exited = threading.Event()

    def hard_exit(code: int) -> None:
        exits.append(code)
        exited.set()

    async def lost() -> None:
        raise LostLease("not renewed")

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.to_thread(exited.wait, 5)

    parts = [Part("stubborn", stubborn), Part("leader", lost)]
    with pytest.raises(ExceptionGroup):
        await Supervisor(parts, asyncio.Event(), hard_exit=hard_exit).run()
    assert exits == [HARD_EXIT_CODE]


async def test_a_lease_that_is_lost_during_the_stop_ends_the_process_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("controller.runtime.supervisor.HARD_EXIT_AFTER", 0.05)
    exited = threading.Event()

    async def leading() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise LostLease("not renewed")

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(await asyncio.to_thread(exited.wait, 5))

    ended: list[bool] = []
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, stop.set)
    parts = [Part("stubborn", stubborn), Part("leader", leading)]
    with pytest.raises(ExceptionGroup):
        await Supervisor(parts, stop, hard_exit=lambda _: exited.set()).run()
    assert ended == [True]


async def test_a_part_that_does_not_stop_is_named_and_the_process_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("controller.runtime.supervisor.HARD_EXIT_AFTER", 0.01)
    exited = threading.Event()
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    stop = asyncio.Event()
    stop.set()
    parts = [Part("stubborn", stubborn, stop_within=0.01)]
    supervisor = Supervisor(parts, stop, hard_exit=lambda _: exited.set())
    with pytest.raises(ExceptionGroup) as caught:
        await supervisor.run()
    assert "stubborn did not stop" in str(caught.value.exceptions[0])
    assert await asyncio.to_thread(exited.wait, 5)
    release.set()
    await asyncio.gather(*supervisor._tasks.values(), return_exceptions=True)


async def test_a_termination_signal_asks_for_a_stop() -> None:
    stop = asyncio.Event()
    with stopping_on_signals(stop):
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stop.wait(), 60)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@virtual_time
async def test_a_part_that_fails_while_another_one_stops_is_reported() -> None:
    diary, stop = Diary(), asyncio.Event()
    stop.set()
    parts = [Part("broken", failing(ZeroDivisionError("oops"))), diary.part("workers", 5)]
    with pytest.raises(ExceptionGroup) as caught:
        await Supervisor(parts, stop).run()
    assert [type(failure) for failure in caught.value.exceptions] == [ZeroDivisionError]
