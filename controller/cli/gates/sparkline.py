"""A line of values in one row of characters."""

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"
NONE = " "


def sparkline(values: Sequence[float | None]) -> str:
    """The lowest value is the lowest bar; a place without a value is left empty."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    return "".join(NONE if value is None else _bar(value, low, high) for value in values)


def _bar(value: float, low: float, high: float) -> str:
    if high == low:
        return _BARS[0]
    return _BARS[round((value - low) / (high - low) * (len(_BARS) - 1))]
