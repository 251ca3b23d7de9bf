"""The part of docs/benchmarks.md that is about scale: the record's figures as tables, beside their pictures.

Invariant: the page has the rows of the record, and no other figure. It must not measure, draw or judge.
"""

from collections.abc import Iterator

from tests.bench.scale.curves import PICTURES
from tests.bench.scale.record import Measured, read
from tests.bench.scale.scenarios import ALL
from tests.bench.sections import replace_section

HEADING = "## At scale"


def write_section() -> None:
    """Put the part of the page in the place of the one that is there."""
    replace_section(HEADING, section())


HEAD = f"""{HEADING}

Each scenario has a control plane of its own, and memory is read at rest. The controller itself measures, fifty times
a second, how late its event loop is. It measures the delay by the clock, which other programs on the machine make
longer, and by the CPU time of the loop's own thread (*its own work*), which they do not.
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
            *_pictures(name),
            _table(measured),
        ]
    return "\n".join(parts)


def _pictures(scenario: str) -> Iterator[str]:
    for picture in PICTURES:
        if picture.scenario == scenario:
            yield f"![{picture.about}](benchmarks/{picture.name}.png)"
            yield ""


def _origin(measured: Measured) -> str:
    others = measured.others_percent
    busy = (
        "the machine was shared"
        if others is None
        else f"other programs used {others:.0f} % of the CPU"
    )
    return (
        f"`{measured.command}`, {measured.day}, Kubernetes {measured.kubernetes}, "
        f"Python {measured.python}; {busy}."
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
