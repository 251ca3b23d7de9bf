"""Time as a dependency.

Invariant: code that needs the date takes a `Clock`; code that needs a delay asks the event loop. `now` is for
values that people and other processes read and for timers that outlive a process, `monotonic` for durations. A machine
whose clock is set forward or back moves neither at once: no pause ends because somebody corrected the time.
"""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

MADE_UP = 0.05
"""The part by which `now` runs faster or slower than time while it corrects a jump: an hour is corrected in twenty."""
JUMP_SECONDS = 60.0
"""The smallest difference that is reported as a jump."""

_log = logging.getLogger(__name__)


def _since_boot() -> float:
    """Seconds of a clock that nobody can set; it also runs while the machine is suspended, if the system offers such
    a clock."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Clock(Protocol):
    """The clock as seen by other parts."""

    def now(self) -> datetime:
        """The date, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary instant; never goes back."""
        ...


class SystemClock:
    """The machine's clock. After a jump, the date is corrected slowly and never goes back."""

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = _since_boot
    ) -> None:
        """`wall` is the date in seconds since 1970, `steady` counts seconds that nobody can set."""
        self._wall, self._steady = wall, steady
        self._shown, self._at = wall(), steady()
        self._warned = False

    def now(self) -> datetime:
        """The date, aware, in UTC."""
        at = self._steady()
        passed = at - self._at
        off = self._wall() - (self._shown + passed)
        self._warn(off)
        most = MADE_UP * passed
        self._shown += passed + min(most, max(-most, off))
        self._at = at
        return datetime.fromtimestamp(self._shown, UTC)

    def monotonic(self) -> float:
        """Seconds on the same scale as the event loop's `time()`."""
        return time.monotonic()

    def _warn(self, off: float) -> None:
        jumped = abs(off) >= JUMP_SECONDS
        if jumped and not self._warned:
            _log.warning("the clock jumped: timers go on", extra={"seconds": round(off)})
        self._warned = jumped
