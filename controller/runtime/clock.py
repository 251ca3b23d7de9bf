"""Time as a dependency.

Invariant: whoever needs the date takes a `Clock`; whoever needs a delay asks the event loop. `now` is for
values that people and other processes read, `monotonic` for durations: a clock that is set back or forward
moves the first only.
"""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The clock as seen by other parts."""

    def now(self) -> datetime:
        """The date, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary instant; never goes back."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The date, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds on the same scale as the event loop's `time()`."""
        return time.monotonic()
