"""Percentiles of measured values. It must do no I/O."""

import math
from collections.abc import Sequence


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that `percent` of all values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def p50(values: Sequence[float]) -> float:
    """The median."""
    return percentile(values, 50)


def p99(values: Sequence[float]) -> float:
    """The value that one value in a hundred exceeds; for fewer than a hundred values the largest."""
    return percentile(values, 99)
