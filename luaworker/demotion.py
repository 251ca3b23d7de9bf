"""Makes a call that uses much CPU yield to all others.

Why: a script that loops may do so until its limit; the neighbours should not notice. Invariant: only CPU time counts,
so a call that is slow because of others is never made slower; nobody is demoted for what an earlier call used.
"""

import asyncio
from collections.abc import Callable

from luaworker.spawn import Child

_SHORTEST_LOOK = 0.002


class Demotion:
    """Watches one call on one child from now on, until it is told to stop."""

    def __init__(self, child: Child, after: float, on_demoted: Callable[[], None]) -> None:
        self._child = child
        self._after = after
        self._on_demoted = on_demoted
        self._loop = asyncio.get_running_loop()
        self._start = child.cpu_seconds
        self._next = self._loop.call_later(after, self._look)

    def stop(self) -> None:
        """The call is over."""
        self._next.cancel()

    def _look(self) -> None:
        used = self._child.cpu_seconds - self._start
        if used < self._after:
            self._next = self._loop.call_later(max(_SHORTEST_LOOK, self._after - used), self._look)
        elif self._child.demote():
            self._on_demoted()
