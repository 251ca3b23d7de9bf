"""Makes a call that uses much CPU yield to all others.

Why: a script that loops may do so until its limit; the neighbours should not notice. A call that nobody will follow on
its child yields in two stages: most honest calls are over before the first, which takes most of a core from it, and
whatever is left at the second runs only where nobody else would. Invariant: only CPU time counts, so a call that is
slow because of others is never made slower; nobody is demoted for what an earlier call used.
"""

import asyncio
from collections.abc import Callable

from luaworker.spawn import Child

_SHORTEST_LOOK = 0.002
_FIRST_STAGE = 1 / 4
"""Of the time after which a call is demoted. Beside four hogs neighbours' p99 is 1.6 times what it is alone so, 1.8
times without a first stage (two cores)."""


class Demotion:
    """Watches one call on one child from now on, until it is told to stop."""

    def __init__(
        self, child: Child, after: float, on_demoted: Callable[[], None], *, staged: bool
    ) -> None:
        self._child = child
        self._after = after
        self._stage = after * _FIRST_STAGE if staged else after
        self._on_demoted = on_demoted
        self._loop = asyncio.get_running_loop()
        self._start = child.cpu_seconds
        self._next = self._loop.call_later(self._stage, self._look)

    def stop(self) -> None:
        """The call is over."""
        self._next.cancel()

    def _look(self) -> None:
        used = self._child.cpu_seconds - self._start
        if used >= self._after:
            if self._child.demote():
                self._on_demoted()
            return
        if used >= self._stage:
            self._child.yield_most()
            self._stage = self._after
        self._next = self._loop.call_later(max(_SHORTEST_LOOK, self._stage - used), self._look)
