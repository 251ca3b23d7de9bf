"""Draws the curves of the record at scale: `make plots`, which `make bench-full` ends with.

Invariant: it draws what `curves` reads from the record. It must measure nothing.
"""

import os
from typing import Any

from tests.bench.plots import COLOURS, ROOM, new_figure
from tests.bench.scale.curves import PICTURES, Panel, Picture, points
from tests.bench.scale.record import RECORD, Measured, read

PANEL_INCHES, HIGH_INCHES = 4.6, 3.6


def draw(picture: Picture, measured: Measured) -> None:
    """Write one picture."""
    panels = picture.panels
    figure = new_figure(max(1.4, len(panels)) * PANEL_INCHES, HIGH_INCHES)
    places = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(places, panels, strict=True):
        _panel(axes, panel, measured)
    figure.supxlabel(_conditions(measured), fontsize=9)
    figure.savefig(RECORD.with_name(f"{picture.name}.png"), dpi=100, metadata={"Software": None})


def _panel(axes: Any, panel: Panel, measured: Measured) -> None:
    highest = 0.0
    for colour, curve in zip(COLOURS.values(), panel.curves, strict=False):
        found = points(curve, measured)
        highest = max(highest, *(y for _, y in found))
        across, up = zip(*found, strict=True)
        axes.plot(across, up, marker="o", color=colour, label=curve.label)
    axes.set_title(panel.title, loc="left", fontsize=11)
    axes.set_xlabel(panel.across)
    axes.set_ylabel(panel.unit)
    axes.set_xlim(left=0)
    axes.set_ylim(0, ROOM * highest)
    axes.xaxis.set_major_formatter(_thousands)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(alpha=0.3)
    if any(curve.label for curve in panel.curves):
        axes.legend(frameon=False, loc="best", fontsize=9)


def _thousands(value: float, _place: int) -> str:
    return f"{value:,.0f}".replace(",", " ")


def _conditions(measured: Measured) -> str:
    others = measured.others_percent
    busy = "the machine was shared" if others is None else f"others used {others:.0f} % of them"
    return f"{measured.day}, {os.cpu_count()} cores; {busy} meanwhile"


def main() -> None:
    """Draw all pictures from the record."""
    record = read()
    for picture in PICTURES:
        if picture.scenario in record:
            draw(picture, record[picture.scenario])


if __name__ == "__main__":
    main()
