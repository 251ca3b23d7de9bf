"""The figures of the record as curves: growth with the number of Rollouts, of pods, and of releases at once.

Why from the lines of the record: a picture then shows only figures that are also in the table beside it. Invariant:
every point is a line of `scale.json`. It must not draw.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.bench.scale.record import Line, Measured

A_POD_EACH = r"(?P<x>\d+) Rollouts, (?P=x) pods: "
MORE_PODS = r"(?P<of>\d+) Rollouts, (?P<x>\d+) pods: "
AT_ONCE = r"(?P<x>\d+) releases at once: "
NUMBER = r"(?P<y>[\d.]+)"

Point = tuple[float, float]


class Curve(NamedTuple):
    """One curve of a panel: the lines of the record with its points, and the place of the value in a line."""

    label: str
    name: str
    """The name of a line, with its `x`."""
    note: str = ""
    """Where `y` is in the line's note; empty: `y` is the line's value."""


class Panel(NamedTuple):
    """One pair of axes."""

    title: str
    across: str
    unit: str
    curves: tuple[Curve, ...]


class Picture(NamedTuple):
    """Panels side by side, of one scenario."""

    name: str
    about: str
    scenario: str
    panels: tuple[Panel, ...]


def _at_rest(title: str, unit: str, *curves: Curve) -> tuple[Panel, ...]:
    """Two panels: by the number of Rollouts, and by the number of pods for the largest number of Rollouts."""
    return tuple(
        Panel(
            f"{title}, {more}",
            across,
            unit,
            tuple(one._replace(name=place + one.name) for one in curves),
        )
        for more, across, place in (
            ("one pod each", "Rollouts", A_POD_EACH),
            ("10 000 Rollouts", "pods", MORE_PODS),
        )
    )


MEMORY, START, MINUTE = "controller's memory", "start to the first pass", "requests in a minute"
REQUESTS, CPU = f"{AT_ONCE}requests of each", f"{AT_ONCE}CPU of each"
APPROVAL = f"{AT_ONCE}approval to our first write, p99"

PICTURES = (
    Picture(
        "scale-memory",
        "Memory of the controller at rest, by the number of Rollouts and by the number of pods",
        "idle",
        _at_rest(
            "Memory",
            "MB",
            Curve("highest since its start", MEMORY, f"highest {NUMBER} MB"),
            Curve("at rest", MEMORY),
        ),
    ),
    Picture(
        "scale-cpu",
        "CPU of the controller for a start and for a minute at rest, by the number of Rollouts and of pods",
        "idle",
        _at_rest(
            "CPU",
            "seconds",
            Curve("a start, until nothing is left to do", START, f"{NUMBER} s until nothing"),
            Curve("a minute at rest", MINUTE, f"CPU {NUMBER} s"),
        ),
    ),
    Picture(
        "scale-releases",
        "API requests and CPU of each release, by the number of releases at once",
        "releases",
        (
            Panel(
                "Requests of each release",
                "releases at once",
                "API requests",
                (Curve("", REQUESTS),),
            ),
            Panel(
                "CPU of each release",
                "releases at once",
                "seconds",
                (
                    Curve("controller and worker", CPU),
                    Curve("worker alone", CPU, f"worker {NUMBER} s"),
                ),
            ),
        ),
    ),
    Picture(
        "scale-approvals",
        "Time from an approval to the first write, by the number of releases at once",
        "releases",
        (
            Panel(
                "Approval to our first write, of 20 other Rollouts",
                "releases at once",
                "seconds",
                (Curve("p99", APPROVAL), Curve("p50", APPROVAL, f"p50 {NUMBER} s")),
            ),
        ),
    ),
)


def points(curve: Curve, measured: Measured) -> tuple[Point, ...]:
    """The points of a curve, from left to right; if there are several numbers of Rollouts, the points of the
    largest."""
    found = [
        (int(at.groupdict().get("of", 0)), float(at["x"]), value)
        for line in measured.lines
        if (at := re.fullmatch(curve.name, line.name)) is not None
        for value in _values(curve, line)
    ]
    most = max((of for of, _, _ in found), default=0)
    return tuple(sorted((x, y) for of, x, y in found if of == most))


def _values(curve: Curve, line: Line) -> Iterator[float]:
    if not curve.note:
        if line.value is not None:
            yield line.value
    elif (match := re.search(curve.note, line.note)) is not None:
        yield float(match["y"])
