"""The keys of a queue that are ready: an urgent line and an ordinary one.

Why two: a change by a person must not wait behind a thousand passes for which no person waits. Invariants: a key is in
one line at most; each line is first come, first served; of a long row of turns for any key (`take`) at least every
fifth goes to an ordinary key, so that urgent keys never starve the others. It must not know the workers, or why a key
is urgent.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)

URGENT_IN_A_ROW = 4
"""Urgent keys that are taken one after the other while ordinary ones wait."""


class Taken(NamedTuple, Generic[K]):
    """The key of this turn, the time since which it was ready, and its line."""

    key: K
    since: float
    urgent: bool


class Lines(Generic[K]):
    """Ready keys in the order of their turns."""

    def __init__(self) -> None:
        self._ordinary: OrderedDict[K, float] = OrderedDict()  # key -> ready since
        self._urgent: OrderedDict[K, float] = OrderedDict()
        self._in_a_row = 0

    def __len__(self) -> int:
        return len(self._ordinary) + len(self._urgent)

    def __contains__(self, key: K) -> bool:
        return key in self._ordinary or key in self._urgent

    def __iter__(self) -> Iterator[K]:
        yield from self._urgent
        yield from self._ordinary

    @property
    def urgent(self) -> int:
        """The number of urgent keys."""
        return len(self._urgent)

    def join(self, key: K, now: float, *, urgent: bool) -> None:
        """Append a key to the end of one line; it must be in no line yet."""
        (self._urgent if urgent else self._ordinary)[key] = now

    def hurry(self, key: K, now: float) -> bool:
        """Make an ordinary key urgent; False if it was not an ordinary key."""
        if self._ordinary.pop(key, None) is None:
            return False
        self._urgent[key] = now
        return True

    def leave(self, key: K) -> None:
        """The key has no turn any more."""
        self._ordinary.pop(key, None)
        self._urgent.pop(key, None)

    def take(self) -> Taken[K]:
        """The next turn of somebody who takes any key; there must be one."""
        crowd_is_due = bool(self._ordinary) and self._in_a_row >= URGENT_IN_A_ROW
        if self._urgent and not crowd_is_due:
            # A row is only counted while somebody waits because of it.
            self._in_a_row = self._in_a_row + 1 if self._ordinary else 0
            return self.take_urgent()
        self._in_a_row = 0
        key, since = self._ordinary.popitem(last=False)
        return Taken(key, since, urgent=False)

    def take_urgent(self) -> Taken[K]:
        """The next turn of somebody who takes urgent keys only; there must be one."""
        key, since = self._urgent.popitem(last=False)
        return Taken(key, since, urgent=True)
