"""Reads CPU time and memory of processes from /proc.

Why it exists: benchmarks compare controllers by what they cost. Invariant: CPU seconds count user and system time of
the processes themselves and of children they have already waited for; PSS shares shared pages fairly, so that sums
over a tree are right. A process that ends while being read counts as nothing. It must not signal anything.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
# Positions in /proc/PID/stat after the closing bracket of the command name.
STATE, PARENT, USER_TIME, START_TIME = 0, 1, 11, 19


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """CPU seconds since start, resident and proportional memory in bytes, number of processes."""

    cpu_seconds: float = 0.0
    rss_bytes: int = 0
    pss_bytes: int = 0
    processes: int = 0

    def __add__(self, other: "ResourceUse") -> "ResourceUse":
        """Add two measurements."""
        return ResourceUse(
            self.cpu_seconds + other.cpu_seconds,
            self.rss_bytes + other.rss_bytes,
            self.pss_bytes + other.pss_bytes,
            self.processes + other.processes,
        )


def usage(pid: int, children: bool = True) -> ResourceUse:
    """Return the use of a process, by default together with its living descendants."""
    pids = [pid, *descendants(pid)] if children else [pid]
    return sum((_one(p) for p in pids), ResourceUse())


def descendants(pid: int) -> tuple[int, ...]:
    """Return the pids of all living descendants."""
    children: dict[int, list[int]] = {}
    for each in _all_pids():
        if fields := stat_fields(each):
            children.setdefault(int(fields[PARENT]), []).append(each)
    found: list[int] = []
    waiting = [pid]
    while waiting:
        born = children.get(waiting.pop(), [])
        found += born
        waiting += born
    return tuple(found)


def start_time(pid: int) -> int | None:
    """Return a number that together with the pid names a process for good; None if it is gone or a zombie."""
    fields = stat_fields(pid)
    return None if not fields or fields[STATE] in "ZX" else int(fields[START_TIME])


def stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the command name; empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _all_pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _one(pid: int) -> ResourceUse:
    fields = stat_fields(pid)
    if not fields:
        return ResourceUse()
    ticks = sum(int(t) for t in fields[USER_TIME : USER_TIME + 4])
    memory = _memory(pid)
    return ResourceUse(ticks / TICKS, memory.get("Rss", 0), memory.get("Pss", 0), 1)


def _memory(pid: int) -> dict[str, int]:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return {}
    return {name: int(value.split()[0]) * 1024 for name, value in (x.split(":") for x in lines)}
