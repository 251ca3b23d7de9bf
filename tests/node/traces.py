"""Traces of a node on the machine: processes, mounts, interfaces, control groups, files.

Why it exists: "nothing stays" has to be seen from outside the node. Invariant: everything is read from the kernel or
the file system; nothing is taken from the node's own records.
"""

import os
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from localcluster.node.box import group_name

PROC = Path("/proc")
PLACES = ("/run", "/var/lib", "/var/log", "/run/containerd", "/run/netns", "/opt", "/etc/cni")
OF_THE_SYSTEM = {"/run/mount"}
"""mount(8) makes this empty folder the first time that it runs; every machine that mounted its disks with it has it."""
NAMESPACES = ("pid", "net", "mnt")
END_SECONDS = 60.0


@dataclass(frozen=True)
class Box:
    """Namespaces and control groups of a node, and the names of the processes that were in one of them."""

    namespaces: frozenset[str]
    group: str
    processes: dict[int, str]

    def left(self) -> list[int]:
        """Return the processes that are still in the box."""
        return [pid for pid in _pids() if _is_in(pid, self.namespaces, self.group)]


def box_of(keeper: int, first: int) -> Box:
    """Return the box that the process `keeper` keeps and whose first process is `first`."""
    namespaces, group = frozenset(_namespaces(first)), group_name(keeper)
    names = {pid: _name(pid) for pid in _pids() if _is_in(pid, namespaces, group)}
    return Box(namespaces, group, names)


def host_state() -> frozenset[tuple[str, str]]:
    """Return all that a node may leave behind on the machine, each with its sort; another node may end meanwhile."""
    files = {f"{place}/{name}" for place in PLACES for name in _names(place)} - OF_THE_SYSTEM
    return frozenset(
        [("mount", str(mount)) for mount in _mounts()]
        + [("interface", name) for name in os.listdir("/sys/class/net")]
        + [("file", path) for path in files]
        + [("group", str(path)) for path in Path("/sys/fs/cgroup").glob("*/moonshift-node-*")]
    )


@contextmanager
def waited_for(pid: int) -> Iterator[Callable[[], None]]:
    """Give a function that returns when the process `pid` has ended."""
    pidfd = os.pidfd_open(pid)

    def ended() -> None:
        assert select.select([pidfd], [], [], END_SECONDS)[0], f"process {pid} goes on"

    try:
        yield ended
    finally:
        os.close(pidfd)


def _mounts() -> list[str]:
    return [line.split()[4] for line in (PROC / "self" / "mountinfo").read_text().splitlines()]


def _names(place: str) -> list[str]:
    return os.listdir(place) if Path(place).is_dir() else []


def _pids() -> list[int]:
    return [int(p.name) for p in PROC.iterdir() if p.name.isdigit()]


def _is_in(pid: int, namespaces: frozenset[str], group: str) -> bool:
    """Whether a process is in the box; those of pods have namespaces of their own, and are in the control groups."""
    if namespaces & _namespaces(pid):
        return True
    try:
        return f"/{group}/" in (PROC / str(pid) / "cgroup").read_text()
    except OSError:
        return False


def _namespaces(pid: int) -> set[str]:
    found = set()
    for name in NAMESPACES:
        try:
            found.add(os.readlink(PROC / str(pid) / "ns" / name))
        except OSError:
            continue
    return found


def _name(pid: int) -> str:
    try:
        return (PROC / str(pid) / "comm").read_text().strip()
    except OSError:
        return ""
