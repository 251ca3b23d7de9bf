"""A budget of corrections: many at once, then one from time to time.

Why it exists: a change that somebody makes to the webhook configurations must be corrected at once, because API servers
may refuse all changes of users meanwhile. A program that makes it again and again must not cause as many writes.
Invariant: the number of corrections in `full_in` is at most twice `most`, and a correction that is due waits no longer
than `full_in / most`. It must not correct anything.
"""

import asyncio
from datetime import timedelta


class Budget:
    """At most `most` at once; an empty budget is full again after `full_in`."""

    def __init__(self, most: int, full_in: timedelta) -> None:
        self._most = most
        self._full_in = full_in.total_seconds()
        self._each = self._full_in / max(most, 1)
        self._full_at = -self._full_in

    def next_in(self) -> timedelta:
        """The time until the next one is free; zero: now."""
        if not self._most:
            return timedelta(seconds=self._full_in)
        free_at = self._full_at + self._each - self._full_in
        return timedelta(seconds=max(0.0, free_at - _now()))

    def take(self) -> None:
        """One is used."""
        self._full_at = max(self._full_at, _now()) + self._each


def _now() -> float:
    return asyncio.get_running_loop().time()
