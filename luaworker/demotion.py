"""Gives a call that uses much CPU a lower priority than all others.

Why: a script that loops may do so until its limit; the neighbours should not notice. A call on a child that serves no
other call yields in two stages. Most honest calls end before the first stage, which takes most of a core from the call;
in the second stage the call runs only on an idle core. If a tenant's last call reached the first stage, its next
call starts there, and enters the second one when other calls enter the first. Invariant: only CPU time counts, so a
call that is slow because of others is never made slower; the CPU of an earlier call puts no call into the second stage.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable

from luaworker.spawn import Child

_SHORTEST_LOOK = 0.002
_FIRST_STAGE = 1 / 4
"""The first stage begins at this share of the time limit for demotion. With four looping scripts at work, neighbours'
p99 is 1.6 times the p99 alone; 1.8 times without a first stage (two cores)."""


class Demotion:
    """Watches one call on one child from now on, until `stop`."""

    def __init__(
        self,
        child: Child,
        after: float,
        on_demoted: Callable[[], None],
        *,
        staged: bool,
        heavy: bool = False,
    ) -> None:
        """`heavy`: the tenant's last call was heavy."""
        self.over = False  # it used so much CPU that it counts as heavy
        self._child = child
        self._on_demoted = on_demoted
        first = after * _FIRST_STAGE
        self._stages = deque([(after, self._end)])
        if staged and heavy:
            child.yield_most()
            self._stages.appendleft((first, self._demote))
        elif staged:
            self._stages.appendleft((first, child.yield_most))
        self._loop = asyncio.get_running_loop()
        self._start = child.cpu_seconds
        self._next = self._loop.call_later(self._stages[0][0], self._look)

    def stop(self) -> None:
        """The call is over."""
        self._next.cancel()

    def _look(self) -> None:
        used = self._child.cpu_seconds - self._start
        if used == math.inf:
            return  # the process has ended; its use of CPU is not known
        action = None
        while self._stages and used >= self._stages[0][0]:
            _, action = self._stages.popleft()
        if action is not None:
            action()
        if self._stages:
            wait = max(_SHORTEST_LOOK, self._stages[0][0] - used)
            self._next = self._loop.call_later(wait, self._look)

    def _demote(self) -> None:
        if not self._child.demoted and self._child.demote():
            self._on_demoted()

    def _end(self) -> None:
        self.over = True
        self._demote()
