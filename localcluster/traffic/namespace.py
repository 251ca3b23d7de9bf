"""A network of our own: the addresses of all simulated pods are this machine's, and no packet can leave.

Why it exists: a gateway must reach pods at the addresses that Kubernetes gives out, and those may not be loopback ones.
Invariant: the process that enters sees one interface, `lo`, with 127/8 and the pod network, every port free, and no way
out; its children inherit that. It must be entered before the process has threads, and cannot be left: builds, which
need the outer network, are done before. `python -m localcluster.traffic.namespace PROGRAM ARGUMENT…` enters and becomes
PROGRAM.
"""

import ctypes
import fcntl
import ipaddress
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence

from localcluster.flags import POD_NETWORK

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8913, 0x8914
SIOCSIFADDR, SIOCSIFNETMASK = 0x8916, 0x891C
IFF_UP = 0x1
PROBE_SECONDS = 30.0


def enter() -> None:
    """Move this process into a network namespace of its own.

    Raises:
        OSError: the kernel or the rights of this user do not allow it.
    """
    try:
        _unshare(CLONE_NEWNET)
    except PermissionError:
        _become_root_of_a_user_namespace()
    _give_addresses()


def _become_root_of_a_user_namespace() -> None:
    user, group = os.getuid(), os.getgid()
    _unshare(CLONE_NEWUSER | CLONE_NEWNET)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"0 {user} 1")
    _write("/proc/self/gid_map", f"0 {group} 1")


def refusal() -> str:
    """Return why this machine does not allow such a network; nothing if it does."""
    probe = subprocess.run(
        inside(()),
        capture_output=True,
        text=True,
        timeout=PROBE_SECONDS,
        check=False,
    )
    return "" if probe.returncode == 0 else (probe.stderr.strip().splitlines() or ["unknown"])[-1]


def _unshare(flags: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"no network namespace: {os.strerror(number)}")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _give_addresses() -> None:
    """Raise `lo` and give it the pod network: for a loopback interface the kernel then routes all of it to itself."""
    network = ipaddress.ip_network(POD_NETWORK)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        before = fcntl.ioctl(control, SIOCGIFFLAGS, _named(b"lo", b""))
        (flags,) = struct.unpack_from("h", before, 16)
        fcntl.ioctl(control, SIOCSIFFLAGS, _named(b"lo", struct.pack("h", flags | IFF_UP)))
        for request, address in (
            (SIOCSIFADDR, network.network_address + 1),
            (SIOCSIFNETMASK, network.netmask),
        ):
            value = struct.pack("hH4s", socket.AF_INET, 0, address.packed)
            fcntl.ioctl(control, request, _named(b"lo:pods", value))


def _named(interface: bytes, value: bytes) -> bytes:
    return struct.pack("16s24s", interface, value)


def inside(command: Sequence[str]) -> list[str]:
    """Return the command line that runs `command` in such a network."""
    return [sys.executable, "-m", "localcluster.traffic.namespace", *command]


if __name__ == "__main__":
    try:
        enter()
    except OSError as error:
        sys.exit(str(error))
    if sys.argv[1:]:
        os.execv(sys.argv[1], sys.argv[1:])
