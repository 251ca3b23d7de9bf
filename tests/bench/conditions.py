"""The other work of the machine during a measurement.

Why it exists: a figure in seconds is meaningful only if no other program used the machine; so the work of others is
measured and reported. Invariant: this process and all processes that it started count as ours, all others as others.
It must not judge.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from localcluster.usage import TICKS, usage

IDLE, IOWAIT = 3, 4
"""Positions in the first line of /proc/stat."""
FIELDS = 8
"""The fields after this position are contained in earlier fields."""
BUSY_PERCENT = 10.0


@dataclass(frozen=True, slots=True)
class Conditions:
    """CPU seconds since the start of the machine: used by everybody, used by us, and available."""

    busy: float
    whole: float
    ours: float

    @classmethod
    def now(cls) -> Self:
        """The values at this instant."""
        words = Path("/proc/stat").read_text().partition("\n")[0].split()[1 : 1 + FIELDS]
        seconds = [int(word) / TICKS for word in words]
        whole = sum(seconds)
        busy = whole - seconds[IDLE] - seconds[IOWAIT]
        return cls(busy, whole, usage(os.getpid()).cpu_seconds)

    def others_percent(self, since: Self) -> float:
        """The share of CPU time that others (including the hypervisor) used since an earlier instant."""
        others = (self.busy - since.busy) - (self.ours - since.ours)
        return max(0.0, 100 * others / max(self.whole - since.whole, 1e-9))
