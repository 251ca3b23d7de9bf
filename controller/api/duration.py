"""Lengths of time, and sums with them: texts as people write them (`30s`, `1h30m`, `250ms`), and numbers of seconds.

Invariant: a text is read wholly or not at all. Units are those of Prometheus up to hours, because queries use the same
text. Whatever number an object holds, the length and every sum of an instant and a length can be computed: the API
server stores a billion billion seconds, and the year 9999.
"""

import re
from datetime import UTC, datetime, timedelta

PATTERN = r"^([0-9]+(ms|s|m|h))+$"
"""As the CRDs say it."""
_PART = re.compile(r"(\d+)(ms|s|m|h)")
_WHOLE = re.compile(PATTERN)
_MOST_CHARACTERS = 64
"""Of a text: a number of thousands of digits is no number for Python."""
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
LONGEST = timedelta(days=3650)
"""A longer text counts as this: no date is so far away that it cannot be computed."""

_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def parse_duration(text: str) -> timedelta | None:
    """The duration in `text`; zero for an empty text, None for a text that is not a duration."""
    if not text:
        return timedelta()
    if len(text) > _MOST_CHARACTERS or _WHOLE.fullmatch(text) is None:
        return None
    total = sum(int(n) * _MILLISECONDS[unit] for n, unit in _PART.findall(text))
    return timedelta(milliseconds=min(total, LONGEST // timedelta(milliseconds=1)))


def of_seconds(number: float) -> timedelta:
    """The length of this many seconds; ten years at most, in both directions."""
    most = LONGEST.total_seconds()
    return timedelta(seconds=max(-most, min(number, most)))


def later(instant: datetime, length: timedelta) -> datetime:
    """`instant` after `length`; the last (or the first) instant of the calendar if it ends before."""
    try:
        return instant + length
    except OverflowError:
        return _LAST if length > timedelta() else _FIRST
