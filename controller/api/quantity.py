"""Counts given as an integer or as a percentage, with the rounding of each use.

Invariant: only `<integer>%` is a percentage (as in the original); anything else is `None` from `parse`, and what
validation let through never raises here.
"""

import re

IntOrPercent = int | str

_PERCENT = re.compile(r"^(\d+)%$")


def parse_percent(value: IntOrPercent | None) -> int | None:
    """The number before the sign of `"20%"`, or None when `value` is no whole percentage."""
    if not isinstance(value, str):
        return None
    found = _PERCENT.match(value)
    return int(found.group(1)) if found else None


def is_count(value: IntOrPercent | None) -> bool:
    """A plain number of replicas (booleans are not numbers here)."""
    return isinstance(value, int) and not isinstance(value, bool)


def scaled_up(value: IntOrPercent | None, total: int) -> int:
    """`value` of `total`, percentages rounded up; 0 when absent or unreadable. Not capped."""
    if isinstance(value, int):
        return value
    percent = parse_percent(value)
    return 0 if percent is None else -(-percent * total // 100)


def scaled_down(value: IntOrPercent | None, total: int) -> int:
    """`value` of `total`, percentages rounded down; 0 when absent or unreadable. Not capped."""
    if isinstance(value, int):
        return value
    percent = parse_percent(value)
    return 0 if percent is None else percent * total // 100


def planned_replicas(value: IntOrPercent | None, total: int) -> int:
    """How many new pods a step wants of `total`: rounded up and never outside [0, total]."""
    return max(0, min(scaled_up(value, total), total))
