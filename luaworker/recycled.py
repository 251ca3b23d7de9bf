"""Children that may serve again: one tenant's calls of one packaged script, and nothing else.

Why: a fork costs more than the script does, and a packaged script is our own; only the object is foreign.
Invariant: a child serves only calls of the key that it served first. It is kept only if it answered OK and in time,
and has served fewer than `calls` calls. At most `most` children wait; the child that was unused for the longest time
ends first, and a child that is unused for long ends, too. Each call has a Lua state of its own (the child ensures
this).
"""

from collections import OrderedDict
from typing import NamedTuple

from luaworker.spawn import Child
from luaworker.wire import Limits


class Key(NamedTuple):
    """The tenant and the script that a child serves, with the limits, because the limits of its process cannot be
    changed."""

    tenant: str
    digest: bytes
    limits: Limits


class Recycled:
    """The children that wait for another call."""

    def __init__(self, most: int, calls: int) -> None:
        self._most = most
        self._calls = calls
        # Ordered by age: the child that was used last is at the end, and is used first.
        self._idle: OrderedDict[Child, tuple[Key, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._idle)

    def take(self, key: Key) -> Child | None:
        """A living child that served this key before."""
        for child in reversed([c for c, (served, _) in self._idle.items() if served == key]):
            del self._idle[child]
            if child.alive:
                return child
            child.discard()
        return None

    def offer(self, key: Key, child: Child, now: float) -> bool:
        """Keeps the child unless it has served enough calls; returns whether it was kept."""
        if child.served >= self._calls or self._most <= 0:
            return False
        self._idle[child] = (key, now)
        while len(self._idle) > self._most:
            oldest, _ = self._idle.popitem(last=False)
            oldest.discard()
        return True

    def let_go(self, since: float) -> None:
        """Ends children that were not used since then."""
        while self._idle:
            child, (_, last) = next(iter(self._idle.items()))
            if last > since:
                return
            del self._idle[child]
            child.discard()

    def forget(self, child: Child) -> None:
        """The child has ended by itself."""
        if self._idle.pop(child, None) is not None:
            child.discard()

    def clear(self) -> None:
        """Ends all children."""
        while self._idle:
            child, _ = self._idle.popitem()
            child.discard()
