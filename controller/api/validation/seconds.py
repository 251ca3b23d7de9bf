"""The longest time that a field may give: a number of seconds that reaches no date of the calendar is a mistake.

Invariant: pure; every field of the plan that is a number of seconds is checked, wherever it stands. A larger number
that is stored already is read as ten years (`controller.api.duration`).
"""

from collections.abc import Iterator

from controller.api.duration import LONGEST
from controller.api.jsontree import JsonObject
from controller.api.validation.findings import Fault, FieldError, Findings

MOST = int(LONGEST.total_seconds())
_FREE = ("spec", "params")
"""Fields whose content is not ours: the spec of a Job, and the parameters of a script."""


def check_seconds(plan: JsonObject, path: str) -> Findings:
    """Every number of seconds in the plan that is too large."""
    return tuple(
        FieldError(place, Fault.INVALID, f"{number} seconds; {MOST} (ten years) is the most")
        for place, number in _numbers(plan, path)
        if number > MOST and place.endswith(("Seconds", "pause.duration"))
    )


def _numbers(value: object, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in _FREE:
                yield from _numbers(inner, f"{place}.{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _numbers(inner, f"{place}[{index}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place, value
