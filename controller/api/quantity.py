"""Counts given as an integer or as a percentage, with the rounding of each use.

Invariant: only `<integer>%` is a percentage of pods (as in the original), a share of traffic may have two decimals;
anything else is `None`, and what validation let through never raises here.
"""

import re

IntOrPercent = int | str

_PERCENT = re.compile(r"(\d{1,9})%", re.ASCII)
_COUNT = re.compile(r"\d{1,18}", re.ASCII)
_SHARE = re.compile(r"(\d{1,3}(?:\.\d{1,2})?)%", re.ASCII)


def parse_count(text: str) -> int | None:
    """The number in an annotation of anybody; None if it is none, or longer than any number that programs write."""
    return int(text) if _COUNT.fullmatch(text) else None


def parse_percent(value: object) -> int | None:
    """The number before the sign of `"20%"`, or None when `value` is no whole percentage."""
    if not isinstance(value, str):
        return None
    found = _PERCENT.fullmatch(value)
    return int(found.group(1)) if found else None


def parse_share(value: object) -> float | None:
    """A share of traffic in percent, `"20%"` or `"0.5%"`; None for anything else, more than two decimals included."""
    found = _SHARE.fullmatch(value) if isinstance(value, str) else None
    share = float(found.group(1)) if found else None
    return share if share is not None and share <= 100 else None


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
