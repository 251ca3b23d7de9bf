"""The limits of this container, which differ from those of the machine.

Why: a pod with two cores on a machine of sixty-four must not start two hundred children. Invariant: reads files of
the kernel only; a limit that cannot be read counts as no limit.
"""

import math
import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def cores(cgroup: Path = _CGROUP) -> int:
    """Cores this process may use, rounded up; at least one."""
    allowed = len(os.sched_getaffinity(0))
    quota, _, period = _words(cgroup / "cpu.max", "max 100000")
    if not quota.isdecimal() or not period.isdecimal():
        return allowed
    return max(1, min(allowed, math.ceil(int(quota) / int(period))))


def memory_limit(cgroup: Path = _CGROUP) -> int | None:
    """Bytes that this container may use; None if there is no limit."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        text, _, _ = _words(cgroup / name, "max")
        if text.isdecimal() and int(text) < 1 << 60:
            return int(text)
    return None


def _words(path: Path, otherwise: str) -> tuple[str, str, str]:
    try:
        text = path.read_text().strip()
    except OSError:
        text = otherwise
    return text.partition(" ")
