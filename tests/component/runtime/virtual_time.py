"""Event loop time that jumps instead of passing, so that tests wait for nothing.

Sockets work: time stands still while anything is ready, and jumps to the next timer when nothing has been for two
milliseconds. Meant for peers inside the same loop.
"""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

REAL_WAIT = 0.002  # seconds that the kernel, or a thread, may take to deliver


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.jumped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        # the loop's own wake-up pipe is always registered; without anything else nobody can be late
        waiting = len(self.get_map()) > 1
        if timeout is None or waiting:
            ready = super().select(None if timeout is None else REAL_WAIT)
        if not ready and timeout is not None:
            self.jumped += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose `time()` is the sum of all jumps."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.jumped


def virtual_time(test: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
    """Run an async test, a plain function to pytest, on a loop of its own in virtual time."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(test(*args, **kwargs))

    return run


class VirtualClock:
    """A `Clock` on the running loop's time; `skew` sets its wall clock, `leap` is a pause nobody saw."""

    def __init__(self) -> None:
        self.skew = timedelta()
        self.leap = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.monotonic()) + self.skew

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time() + self.leap


def now() -> float:
    """Virtual seconds since the test began."""
    return asyncio.get_running_loop().time()
