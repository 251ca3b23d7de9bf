"""Returns the free pages of glibc's heap to the system when the passes of a release are over.

Why: passes make buffers of some kilobytes, requests and answers, among objects that stay. When they are freed, glibc
keeps their pages: almost a megabyte after 75 releases, of which no Python object had stayed. Invariant: no timer runs
without passes: the first pass after a rest starts one, and the look that finds no pass since the last one is the last.
With another C library nothing happens.
"""

import asyncio
import ctypes
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from controller.api.meta import Key

REST_SECONDS = 5.0
"""Seconds without a pass: nobody waits for the milliseconds that it takes."""

_R = TypeVar("_R")


def give_back() -> None:
    """Return every free page of the heap to the system."""
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class HeapAtRest:
    """Calls `on_rest` when no pass has ended for `REST_SECONDS`. For one event loop."""

    def __init__(self, on_rest: Callable[[], None] = give_back) -> None:
        self._on_rest = on_rest
        self._worked_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def after(self, reconcile: Callable[[Key], Awaitable[_R]]) -> Callable[[Key], Awaitable[_R]]:
        """`reconcile`, with the end of each pass noticed."""

        async def noticed(key: Key) -> _R:
            try:
                return await reconcile(key)
            finally:
                self.disturb()

        return noticed

    def disturb(self) -> None:
        """Some work has just ended and left free pages."""
        loop = asyncio.get_running_loop()
        self._worked_at = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(REST_SECONDS, self._look)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        left = self._worked_at + REST_SECONDS - loop.time()
        if left > 0:
            self._timer = loop.call_later(left, self._look)
            return
        self._timer = None
        self._on_rest()
