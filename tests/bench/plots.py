"""Draws the cost of a release against the number of releases at once: `make plots`.

Why it exists: a reader sees at once whether the cost grows. Invariant: every point is in the record (`sizes`). It
must measure nothing. The project does not depend on matplotlib: `make plots` installs matplotlib.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.bench.objects import Style
from tests.bench.sizes import RECORD, Point, Record, read

COLOURS = {Style.CANARY: "#1f77b4", Style.PARTITION: "#ff7f0e"}
INCHES = (6.4, 3.6)
ROOM = 1.15
"""The end of the vertical axis, as a multiple of the highest value."""


class Plot(NamedTuple):
    """One picture, and the quantity of its vertical axis."""

    name: str
    title: str
    unit: str
    value: Callable[[Point], float]


PLOTS = (
    Plot("requests", "API requests of each release", "requests", lambda point: point.requests),
    Plot("cpu", "CPU of each release, controller and worker", "seconds", lambda point: point.cpu),
    Plot(
        "memory", "Memory of controller and worker, at most", "MB", lambda point: point.peak_memory
    ),
)


def draw(plot: Plot, record: Record) -> None:
    """Write one picture."""
    figure = new_figure(*INCHES)
    axes = figure.add_subplot()
    for style in Style:
        _line(axes, plot, style, record)
    axes.set_title(plot.title, loc="left")
    axes.set_xlabel(f"releases at once\n{_conditions(record)}", fontsize=9)
    axes.set_ylabel(plot.unit)
    axes.set_ylim(0, ROOM * max(map(plot.value, record.points)))
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(RECORD.with_name(f"{plot.name}.png"), dpi=100, metadata={"Software": None})


def new_figure(wide: float, high: float) -> Any:
    """An empty picture. Raises SystemExit with the command where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SystemExit("matplotlib is missing: run `make plots`") from None
    return Figure(figsize=(wide, high), layout="constrained")


def _conditions(record: Record) -> str:
    """The conditions of the machine that a reader has to know: CPU seconds are longer where others use its caches."""
    others = [point.others_percent for point in record.points]
    return f"{record.day}, {record.cores} cores; others used {min(others):.0f} to {max(others):.0f} % of them meanwhile"


def _line(axes: Any, plot: Plot, style: Style, record: Record) -> None:
    points = [point for point in record.points if point.style is style]
    sizes, values = [point.rollouts for point in points], [plot.value(point) for point in points]
    axes.plot(sizes, values, marker="o", color=COLOURS[style], label=f"{style} style")


def main() -> None:
    """Draw all pictures from the record."""
    record = read()
    for plot in PLOTS:
        draw(plot, record)


if __name__ == "__main__":
    main()
