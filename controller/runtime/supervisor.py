"""Supervision: the parts of a process live and die together, in order.

Invariants: a part that ends without a request to stop, with or without an error, ends the process; parts are stopped in
reverse order of their start, each given its time to finish before the next is touched; a process that lost its
lease, or whose parts do not stop, is ended from a thread, because an event loop that hangs cannot end itself.
"""

import asyncio
import contextlib
import logging
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence

import msgspec

from controller.errors import LostLease

_log = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
HARD_EXIT_AFTER = 3.0  # seconds that a process in disorder may still take
HARD_EXIT_CODE = 70


class Part(msgspec.Struct, frozen=True):
    """One loop of the process: `run` lasts until it is cancelled; `stop_within` seconds are its own."""

    name: str
    run: Callable[[], Awaitable[None]]
    stop_within: float = 15.0


class Supervisor:
    """Runs parts until `stop` is set, or one of them ends."""

    def __init__(
        self,
        parts: Sequence[Part],
        stop: asyncio.Event,
        *,
        hard_exit: Callable[[int], None] = os._exit,
    ) -> None:
        self._parts = tuple(parts)
        if len({part.name for part in parts}) < len(self._parts):
            raise ValueError("every part needs a name of its own")
        self._stop = stop
        self._hard_exit = hard_exit
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._failures: list[Exception] = []
        self._watchdog: threading.Timer | None = None

    async def run(self) -> None:
        """Start all, wait, stop all in reverse; raise the group of failures, if any."""
        stopped = asyncio.create_task(self._stop.wait(), name="stop")
        try:
            for part in self._parts:
                self._tasks[part.name] = asyncio.create_task(_run(part), name=part.name)
            await asyncio.wait(
                (stopped, *self._tasks.values()), return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            stopped.cancel()
            for task in self._tasks.values():
                self._note_failure(task)
            if await self._stop_all():
                # the owner of the loop would wait for these tasks for ever
                self._arm()
            elif self._watchdog is not None:
                self._watchdog.cancel()
        if self._failures:
            raise ExceptionGroup("parts failed", self._failures)

    async def _stop_all(self) -> list[str]:
        """Cancel the parts from last to first; returns those that did not stop."""
        late: list[str] = []
        for part in reversed(self._parts):
            task = self._tasks.get(part.name)
            if task is None:
                continue
            task.cancel()
            await asyncio.wait((task,), timeout=part.stop_within)
            if task.done():
                self._note_failure(task)
                continue
            _log.error("part does not stop", extra={"part": part.name})
            late.append(part.name)
            text = f"{part.name} did not stop in {part.stop_within:g} s"
            self._failures.append(TimeoutError(text))
        return late

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        """A part has failed, if so: at once, or while it was being stopped."""
        failure = _failed(task)
        if failure is None or failure in self._failures:
            return
        self._failures.append(failure)
        if _is_lost_lease(failure):
            self._arm()

    def _arm(self) -> None:
        """End the process from a thread soon, whatever the event loop does."""
        if self._watchdog is None:
            self._watchdog = threading.Timer(
                HARD_EXIT_AFTER, self._hard_exit, args=(HARD_EXIT_CODE,)
            )
            self._watchdog.daemon = True
            self._watchdog.start()


async def _run(part: Part) -> None:
    await part.run()
    raise RuntimeError(f"{part.name} ended by itself")


def _failed(task: asyncio.Task[None]) -> Exception | None:
    if not task.done() or task.cancelled():
        return None
    failure = task.exception()
    return failure if isinstance(failure, Exception) else None


def _is_lost_lease(failure: BaseException) -> bool:
    if isinstance(failure, BaseExceptionGroup):
        return any(_is_lost_lease(inner) for inner in failure.exceptions)
    return isinstance(failure, LostLease)


@contextlib.contextmanager
def stopping_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` on SIGTERM and SIGINT; a second signal ends the process as usual."""
    loop = asyncio.get_running_loop()

    def request() -> None:
        _log.info("stopping", extra={"reason": "signal"})
        stop.set()
        _restore()

    def _restore() -> None:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, request)
    try:
        yield
    finally:
        _restore()
