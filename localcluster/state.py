"""The file in a plane's folder by which other processes find the plane.

Why it exists: `up` ends while the plane lives on, and `down`, `status` and other programs find it again. Invariant: the
file is written whole, names each process by pid and start time, and is gone after `down`. It must not hold secrets.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec


class ProcessState(msgspec.Struct, frozen=True):
    """One process, its start time making the pid unique."""

    pid: int
    started_at: int | None


class PlaneState(msgspec.Struct, frozen=True):
    """Everything needed to take over a plane."""

    etcd_port: int
    etcd_peer_port: int
    api_port: int
    data: str
    kubectl: str
    programs: Mapping[str, tuple[str, ...]]
    processes: Mapping[str, ProcessState]


def state_file(directory: Path) -> Path:
    """Return where the state of a plane is."""
    return directory / "state.json"


def read_state(directory: Path) -> PlaneState | None:
    """Return the state, None if no plane is."""
    try:
        return msgspec.json.decode(state_file(directory).read_bytes(), type=PlaneState)
    except FileNotFoundError:
        return None


def write_state(directory: Path, state: PlaneState) -> None:
    """Write the state in one step."""
    partial = directory / ".state.json"
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(state)))
    partial.rename(state_file(directory))
