"""Notices that nobody has called for a while, so that what only waits for calls can end.

Why: a child that waits costs memory, and most of the time nothing is released anywhere. Invariant: no timer runs while
nobody calls: the first call after a rest starts one, and the look that finds nothing to do any more is the last.
"""

import asyncio
from collections.abc import Callable


class Rest:
    """Looks every so many seconds while there are calls, and once after the last. For one event loop."""

    def __init__(self, seconds: float, on_look: Callable[[float], None]) -> None:
        """`on_look` hears since when, on the loop's clock, something has to be unused to be let go."""
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
        """No more looks."""
        if self._next is not None:
            self._next.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        self.resting = now - self._last >= self._seconds
        self._next = None if self.resting else self._loop.call_later(self._seconds, self._look)
        self._on_look(now - self._seconds)
