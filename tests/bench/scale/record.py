"""The measured rows of each scenario, in docs/benchmarks/scale.json, and its part of docs/benchmarks.md.

Invariant: the page has the rows of the record; a scenario that is measured alone leaves the others' rows. It must not
measure or judge.
"""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from demo.stage import ROOT
from localcluster.build import KUBERNETES_VERSION
from tests.bench.registry import Row
from tests.bench.scale.scenarios import ALL

RECORD = ROOT / "docs" / "benchmarks" / "scale.json"
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN = "## At scale\n"
NEXT = "\n## "


class Line(msgspec.Struct, frozen=True):
    """One figure."""

    name: str
    limit: float
    value: float | None
    unit: str
    note: str


class Measured(msgspec.Struct, frozen=True):
    """One scenario's figures, and where they are from."""

    command: str
    day: str
    kubernetes: str
    python: str
    others_percent: float | None
    """None where it was not noted."""
    lines: tuple[Line, ...]


def read() -> dict[str, Measured]:
    """The recorded measurements, by scenario."""
    if not RECORD.exists():
        return {}
    return msgspec.json.decode(RECORD.read_bytes(), type=dict[str, Measured])


def keep(name: str, rows: Sequence[Row], others: float | None, size: str = "") -> None:
    """Record a scenario in place of its former record; `size` is the option that made it smaller."""
    lines = tuple(Line(row.name, row.limit, row.value, row.unit, row.note) for row in rows)
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    command = f"python -m tests.bench.scale --only {name}{size and f' {size}'}"
    made = Measured(command, day, KUBERNETES_VERSION, platform.python_version(), others, lines)
    record = read() | {name: made}
    RECORD.write_bytes(msgspec.json.format(msgspec.json.encode(record)) + b"\n")


def write_section() -> None:
    """Put the part of the page in the place of the one that is there."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(NEXT)
    whole = before.rstrip() + "\n\n" + section() + found.lstrip("\n") + after
    PAGE.write_text(whole, encoding="utf-8")


HEAD = """## At scale

Each scenario has a control plane of its own, and memory is read after a garbage collection. How late the event loop is
is noted in the process itself, fifty times a second: by the clock, which neighbours on the machine delay, too, and by
the processor time that the loop's own thread took meanwhile, which they cannot.
"""


def section() -> str:
    """The part of the page that is about scale."""
    record = read()
    parts = [HEAD] if record else []
    for name, measured in record.items():
        parts += [
            f"### {ALL[name].about}",
            "",
            _origin(measured),
            ALL[name].explained,
            "",
            _table(measured),
        ]
    return "\n".join(parts)


def _origin(measured: Measured) -> str:
    others = measured.others_percent
    busy = "the machine was shared" if others is None else f"others used {others:.0f} % of the CPU"
    return (
        f"`{measured.command}`, {measured.day}, Kubernetes {measured.kubernetes}, "
        f"Python {measured.python}; {busy} meanwhile."
    )


def _table(measured: Measured) -> str:
    lines = ["| what | goal | measured |", "|---|---|---|"]
    for line in measured.lines:
        value = "not measured" if line.value is None else _number(line.value, line.unit)
        reached = line.value is not None and line.value <= line.limit
        note = f" ({line.note})" if line.note else ""
        verdict = "" if reached else " **missed**"
        lines.append(
            f"| {line.name} | <= {_number(line.limit, line.unit)} | {value}{verdict}{note} |"
        )
    return "\n".join((*lines, ""))


def _number(value: float, unit: str) -> str:
    text = f"{value:.0f}" if value == int(value) else f"{value:.2f}"
    return f"{text} {unit}".strip()
