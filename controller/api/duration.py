"""Lengths of time as people write them: `30s`, `5m`, `1h30m`, `250ms`.

Invariant: a text is read wholly or not at all. Units are those of Prometheus up to hours, because queries use the same
text.
"""

import re
from datetime import timedelta

PATTERN = r"^([0-9]+(ms|s|m|h))+$"
"""As the CRDs say it."""
_PART = re.compile(r"(\d+)(ms|s|m|h)")
_WHOLE = re.compile(PATTERN)
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
LONGEST = timedelta(days=3650)
"""A longer text counts as this: no date is so far away that it cannot be computed."""


def parse_duration(text: str) -> timedelta | None:
    """The duration in `text`; zero for an empty text, None for a text that is not a duration."""
    if not text:
        return timedelta()
    if _WHOLE.match(text) is None:
        return None
    total = sum(int(n) * _MILLISECONDS[unit] for n, unit in _PART.findall(text))
    return timedelta(milliseconds=min(total, LONGEST // timedelta(milliseconds=1)))
