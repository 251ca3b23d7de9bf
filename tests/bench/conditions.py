"""The other work of the machine during a measurement.

Why it exists: a figure in seconds means something only where the machine was ours; others' work is measured and told.
Invariant: this process with all it started counts as ours, everything else as others'. It must not judge.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from localcluster.usage import TICKS, usage

IDLE, IOWAIT = 3, 4
"""Positions in the first line of /proc/stat."""
FIELDS = 8
"""What follows is contained in the fields before."""
BUSY_PERCENT = 10.0


@dataclass(frozen=True, slots=True)
class Conditions:
    """CPU seconds since the machine was started, of everybody and of us, and in all."""

    busy: float
    whole: float
    ours: float

    @classmethod
    def now(cls) -> Self:
        """As they are at this instant."""
        words = Path("/proc/stat").read_text().partition("\n")[0].split()[1 : 1 + FIELDS]
        seconds = [int(word) / TICKS for word in words]
        whole = sum(seconds)
        busy = whole - seconds[IDLE] - seconds[IOWAIT]
        return cls(busy, whole, usage(os.getpid()).cpu_seconds)

    def others_percent(self, since: Self) -> float:
        """How much of the machine's CPU time others used (hypervisor included) since an earlier instant."""
        others = (self.busy - since.busy) - (self.ours - since.ours)
        return max(0.0, 100 * others / max(self.whole - since.whole, 1e-9))
