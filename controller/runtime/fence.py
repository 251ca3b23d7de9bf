"""The last question before a write of the leader: does the Lease still count?

Why it exists: a process that was frozen (stopped, swapped out, moved with its machine) goes on in the middle of its
work. It reads the answer to its last request and sends its next write before any timer could show that another process
leads by now. Invariant: `check` looks at the clock itself, and at one that goes on while the machine sleeps; it raises
before the instant at which another may take the Lease over. It must not send a request.
"""

import time
from collections.abc import Callable

from controller.errors import LostLease

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def seconds_asleep_or_awake() -> float:
    """Seconds since an arbitrary instant, including the time in which the machine was suspended."""
    return time.clock_gettime(_CLOCK)


class Fence:
    """Closed at first; the leader opens it with each renewal."""

    def __init__(self, seconds: Callable[[], float] = seconds_asleep_or_awake) -> None:
        self.seconds = seconds
        self._until = 0.0
        self._open = False

    def open(self, until: float) -> None:
        """Writes are let through until this instant of `seconds`."""
        self._until, self._open = until, True

    def close(self) -> None:
        """No write is let through."""
        self._open = False

    def check(self) -> None:
        """Raise LostLease unless writes are let through."""
        if not self._open:
            raise LostLease("this process does not lead")
        late = self.seconds() - self._until
        if late > 0:
            raise LostLease(f"the lease has not counted for {late:.1f} s: others may lead")
