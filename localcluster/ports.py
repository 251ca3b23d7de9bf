"""Chooses ports on 127.0.0.1.

Why it exists: several planes may run at once, and a component that restarts must get its port back. Invariant: a
chosen port was free and lies outside the range from which the kernel takes the ports of outgoing connections, so that
nobody takes it by accident during a restart. It must not promise more: starting a plane retries with other ports.
"""

import random
import socket
from pathlib import Path

LOWEST = 12000
RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int) -> tuple[int, ...]:
    """Return `count` distinct free ports."""
    first_ephemeral = int(RANGE_FILE.read_text().split()[0]) if RANGE_FILE.exists() else 32768
    chooser = random.SystemRandom()
    if first_ephemeral - LOWEST < 1000:
        return _any_ports(count)
    chosen: set[int] = set()
    while len(chosen) < count:
        port = chooser.randrange(LOWEST, first_ephemeral)
        if _is_free(port):
            chosen.add(port)
    return tuple(chosen)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _any_ports(count: int) -> tuple[int, ...]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return tuple(probe.getsockname()[1] for probe in probes)
    finally:
        for probe in probes:
            probe.close()
