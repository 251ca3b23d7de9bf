"""The measured rows of each scenario, in docs/benchmarks/scale.json.

Invariant: a scenario that is measured alone leaves the others' rows. It must not measure or judge.
"""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from demo.stage import ROOT
from localcluster.build import KUBERNETES_VERSION
from tests.bench.registry import Row

RECORD = ROOT / "docs" / "benchmarks" / "scale.json"


class Line(msgspec.Struct, frozen=True):
    """One figure."""

    name: str
    limit: float
    value: float | None
    unit: str
    note: str


class Measured(msgspec.Struct, frozen=True):
    """One scenario's figures, and their origin."""

    command: str
    day: str
    kubernetes: str
    python: str
    others_percent: float | None
    """None if it was not noted."""
    lines: tuple[Line, ...]


def read() -> dict[str, Measured]:
    """The recorded measurements, by scenario."""
    if not RECORD.exists():
        return {}
    return msgspec.json.decode(RECORD.read_bytes(), type=dict[str, Measured])


def keep(name: str, rows: Sequence[Row], others: float | None, size: str = "") -> None:
    """Record a scenario in place of its former record; `size` is the option for a smaller size."""
    lines = tuple(Line(row.name, row.limit, row.value, row.unit, row.note) for row in rows)
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    command = f"python -m tests.bench.scale --only {name}{size and f' {size}'}"
    made = Measured(command, day, KUBERNETES_VERSION, platform.python_version(), others, lines)
    record = read() | {name: made}
    RECORD.write_bytes(msgspec.json.format(msgspec.json.encode(record)) + b"\n")
