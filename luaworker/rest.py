"""Notices a time without calls, so that waiting children can end.

Why: a waiting child costs memory, and most of the time there is no release. Invariant: no timer runs without calls: the
first call after a rest starts one, and the check that finds nothing to do any more is the last.
"""

import asyncio
from collections.abc import Callable


class Rest:
    """Checks at an interval while there are calls, and once after the last. For one event loop."""

    def __init__(self, seconds: float, on_look: Callable[[float], None]) -> None:
        """`on_look` gets a time on the loop's clock: children that are unused since then may end."""
        self._seconds = seconds
        self._on_look = on_look
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._next: asyncio.TimerHandle | None = None
        self.resting = False
        self.disturb()

    def disturb(self) -> None:
        """A call began or ended."""
        self._last = self._loop.time()
        self.resting = False
        if self._next is None and self._seconds:
            self._next = self._loop.call_later(self._seconds, self._look)

    def end(self) -> None:
        """Stop checking."""
        if self._next is not None:
            self._next.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        self.resting = now - self._last >= self._seconds
        self._next = None if self.resting else self._loop.call_later(self._seconds, self._look)
        self._on_look(now - self._seconds)
