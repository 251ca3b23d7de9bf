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
_UNIT = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
}


def parse_duration(text: str) -> timedelta | None:
    """The duration in `text`; zero for an empty text, None for a text that is not a duration."""
    if not text:
        return timedelta()
    if _WHOLE.match(text) is None:
        return None
    return sum((int(n) * _UNIT[unit] for n, unit in _PART.findall(text)), timedelta())
