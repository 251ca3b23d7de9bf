"""The box of a node: processes, mounts and a network of its own, which end together.

Why it exists: kubelet and containerd leave mounts, shims, interfaces and cgroups behind when they are killed. A machine
for development must not keep these. Run as a script with PID_FILE; the process that is started keeps the box, its child
is the first process inside. Invariant: when the keeper gets SIGTERM, or its starter dies, the kernel ends all processes
of the box, with them its mounts and its network go, and the keeper removes its control groups. After SIGKILL of the
keeper only empty control groups stay; the next start removes them. It must not import more than the standard library.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x8000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG, PR_GET_PDEATHSIG = 1, 2
CGROUPS = Path("/sys/fs/cgroup")
GROUP_PREFIX = "moonshift-node-"
ADDRESS = "10.99.0.1"
SERVICES = "10.0.0.0/16"
REMOVAL_SECONDS = 10.0
# All pods together get the CPU share of one group; each process outside of the box competes with that group.
WEIGHTS = {"cpu.shares": "65536", "cpu.weight": "2500"}
_LIBRARY = ctypes.CDLL(None, use_errno=True)

# Everything that is written outside the folders of the plane is written into memory that goes with the box.
MOUNTS = (
    ("mount", "--make-rprivate", "/"),
    # A mount that the kubelet makes has to be seen by containerd, and by nobody outside.
    ("mount", "--make-rshared", "/"),
    ("mount", "-t", "proc", "proc", "/proc"),
    ("mount", "-t", "tmpfs", "tmpfs", "/run"),
    ("mkdir", "-p", "/run/lock", "/run/netns", "/run/library/upper", "/run/library/work"),
    (
        *("mount", "-t", "overlay", "overlay", "-o"),
        "lowerdir=/var/lib,upperdir=/run/library/upper,workdir=/run/library/work",
        "/var/lib",
    ),
    ("mount", "-t", "tmpfs", "tmpfs", "/var/log"),
)
# The API server's own calls to Services need a route before the rules of kube-proxy see them.
NETWORK = (
    ("ip", "link", "set", "lo", "up"),
    ("ip", "link", "add", "node0", "type", "veth", "peer", "name", "node1"),
    ("ip", "link", "set", "node1", "up"),
    ("ip", "link", "set", "node0", "up"),
    ("ip", "address", "add", f"{ADDRESS}/32", "dev", "node0"),
    ("ip", "route", "add", SERVICES, "dev", "node0", "src", ADDRESS),
)
SETTINGS = {
    "/proc/sys/net/ipv4/ip_forward": "1",
    "/proc/sys/net/ipv4/conf/all/rp_filter": "0",
    "/proc/sys/net/ipv4/conf/default/rp_filter": "0",
}


def main(arguments: list[str]) -> int:
    """Keep a box until asked to end."""
    (pid_file,) = arguments
    group = group_name(os.getpid())
    _end_with_the_starter()
    waited = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    sweep_groups()
    make_groups(group)
    _unshare(CLONE_NEWPID)
    reading, writing = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(reading)
        _be_first(writing)
    os.close(writing)
    furnished = os.read(reading, 1) == b"."
    if furnished:
        Path(f"{pid_file}.partial").write_text(str(first))
        Path(f"{pid_file}.partial").rename(pid_file)
        signal.sigwait(waited)
    Path(pid_file).unlink(missing_ok=True)
    os.kill(first, signal.SIGKILL)
    # The first process of a box can be waited for when all others of the box are gone.
    os.waitpid(first, 0)
    remove_groups(group)
    return 0 if furnished else 1


def group_name(pid: int) -> str:
    """Return the name of the control groups of the box that the process `pid` keeps."""
    return f"{GROUP_PREFIX}{pid}"


def hierarchies() -> list[Path]:
    """Return the folders in which control groups are made: several for version 1, one for version 2."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return [p for p in CGROUPS.iterdir() if (p / "tasks").exists() and not p.is_symlink()]


def make_groups(group: str) -> None:
    """Make the groups, empty."""
    for hierarchy in hierarchies():
        folder = hierarchy / group
        folder.mkdir(exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):
            if (folder / name).exists() and (hierarchy / name).exists():
                (folder / name).write_text((hierarchy / name).read_text().strip())
        for name, weight in WEIGHTS.items():
            if (folder / name).exists():
                (folder / name).write_text(weight)


def remove_groups(group: str) -> None:
    """Remove the groups with everything below; no process may be in them."""
    deadline = time.monotonic() + REMOVAL_SECONDS
    for hierarchy in (*hierarchies(), CGROUPS / "unified"):
        for folder, _, _ in os.walk(hierarchy / group, topdown=False):
            while not _removed(folder) and time.monotonic() < deadline:
                time.sleep(0.01)


def sweep_groups() -> None:
    """Remove the groups of boxes whose keeper was killed: nobody is in them."""
    found = {p.name for h in hierarchies() for p in h.glob(f"{GROUP_PREFIX}*")}
    for name in found:
        if not Path(f"/proc/{name.removeprefix(GROUP_PREFIX)}").exists():
            remove_groups(name)


def _removed(folder: str) -> bool:
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _be_first(writing: int) -> None:
    """Be the first process of the box: set it up, then wait for every process that has lost its parent."""
    _LIBRARY.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC)
    for command in (*MOUNTS, *NETWORK):
        subprocess.run(command, check=True)
    for path, value in SETTINGS.items():
        Path(path).write_text(value)
    os.write(writing, b".")
    os.close(writing)
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            signal.sigwait({signal.SIGCHLD})


def _end_with_the_starter() -> None:
    """Where the launcher has tied this process to its starter: be asked to end instead of being killed."""
    asked = ctypes.c_int()
    _LIBRARY.prctl(PR_GET_PDEATHSIG, ctypes.byref(asked), 0, 0, 0)
    if asked.value:
        _LIBRARY.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _unshare(flags: int) -> None:
    if _LIBRARY.unshare(flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"no namespaces of our own: {os.strerror(number)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
