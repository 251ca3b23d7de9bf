"""Draws the panels of a dashboard as one PNG, in the order and widths that Grafana gives them.

Why it exists: the documents show the dashboards. It must not fetch data. matplotlib is no dependency
of the project: `make picture` installs it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.monitoring.dashboards import Panel

COLUMNS = 24
"""Columns of Grafana's grid."""
BACKGROUND, PAPER, INK, FAINT = "#111217", "#181b1f", "#ccccdc", "#3a3d44"
COLOURS = ("#73bf69", "#f2cc0c", "#8ab8ff", "#ff780a", "#f2495c", "#b877d9")
NAMED = 5
"""Lines of a panel that its legend names."""
UNITS = {"percent": " %", "s": " s"}


class Series(NamedTuple):
    """A line: its name, and pairs of seconds since the beginning and value."""

    name: str
    values: list[tuple[float, float]]


def draw(title: str, panels: Sequence[tuple[Panel, Sequence[Series]]], target: Path) -> None:
    """Write the picture. Raises SystemExit with the command where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SystemExit("matplotlib is missing: run `make picture`") from None
    rows = _rows([panel for panel, _ in panels])
    heights = [1 if row[0].kind == "stat" else 2 for row in rows]
    figure = Figure(figsize=(13, 1.25 * sum(heights)), facecolor=BACKGROUND, layout="constrained")
    figure.suptitle(title, color=INK, fontsize=14, x=0.01, ha="left")
    grid = figure.add_gridspec(len(rows), COLUMNS, height_ratios=heights)
    series = iter(panels)
    for number, row in enumerate(rows):
        left = 0
        for _ in row:
            panel, lines = next(series)
            axes = figure.add_subplot(grid[number, left : left + panel.width])
            left += panel.width
            (_draw_number if panel.kind == "stat" else _draw_lines)(axes, panel, lines)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=80, metadata={"Software": None})


def _rows(panels: Sequence[Panel]) -> list[list[Panel]]:
    rows: list[list[Panel]] = [[]]
    for panel in panels:
        if sum(one.width for one in rows[-1]) + panel.width > COLUMNS:
            rows.append([])
        rows[-1].append(panel)
    return rows


def _frame(axes: Any, panel: Panel) -> None:
    axes.set_facecolor(PAPER)
    axes.set_title(panel.title, color=INK, fontsize=9, loc="left")
    for spine in axes.spines.values():
        spine.set_color(FAINT)


def _draw_number(axes: Any, panel: Panel, lines: Sequence[Series]) -> None:
    _frame(axes, panel)
    axes.set_xticks([])
    axes.set_yticks([])
    latest = lines[0].values[-1][1]
    text = f"{latest:g}{UNITS.get(panel.unit, '')}"
    axes.text(0.5, 0.5, text, color=COLOURS[0], fontsize=24, ha="center", va="center")


def _newest(line: Series) -> tuple[float, float]:
    """A sort key that puts first the series that is there at the end, and highest."""
    moment, value = line.values[-1]
    return -moment, -value


def _draw_lines(axes: Any, panel: Panel, lines: Sequence[Series]) -> None:
    _frame(axes, panel)
    axes.tick_params(colors=INK, labelsize=7)
    axes.grid(color=FAINT, linewidth=0.5)
    for number, line in enumerate(sorted(lines, key=_newest)):
        moments, values = zip(*line.values, strict=True)
        axes.plot(
            moments,
            values,
            color=COLOURS[number % len(COLOURS)],
            lw=1.5,
            label=line.name if number < NAMED else None,
        )
    axes.set_ylim(0, max(1.0, 1.15 * max(max(value for _, value in line.values) for line in lines)))
    axes.set_xlabel("seconds", color=INK, fontsize=7)
    axes.set_ylabel(UNITS.get(panel.unit, "").strip(), color=INK, fontsize=7)
    axes.legend(fontsize=7, facecolor=PAPER, edgecolor=FAINT, labelcolor=INK, loc="upper left")
