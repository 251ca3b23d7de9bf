"""Durations on the command line, as kubectl writes them: `90s`, `5m`, `1h30m`, `7d`; `0` means without end."""

import re
from datetime import timedelta

import click

LONGEST = timedelta(days=36_525)
"""A century: a date that is much further away cannot be computed."""
_NUMBER = re.compile(r"\d+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"))
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Duration(click.ParamType["timedelta"]):
    """The click type of a duration."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Read it, or say how it is written."""
        if isinstance(value, timedelta):
            return value
        text = str(value)
        seconds = _seconds_of(text)
        if seconds is None:
            raise click.BadParameter(
                f"{text!r} is no duration: write it like 90s, 5m or 1h30m", ctx=ctx, param=param
            )
        if seconds > LONGEST.total_seconds():
            raise click.BadParameter(f"{text!r} is more than a century", ctx=ctx, param=param)
        return timedelta(seconds=seconds)


def _seconds_of(text: str) -> float | None:
    """The seconds of a duration; None if it is none. (A float, because Python refuses to read a very long integer.)"""
    if _NUMBER.fullmatch(text):
        return float(text)
    if not text or _PART.sub("", text):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))


DURATION = Duration()


def limit_of(wait: timedelta) -> float | None:
    """The seconds of a `--timeout`, as asyncio takes them; None: without end."""
    return wait.total_seconds() or None


def span(length: timedelta) -> str:
    """As kubectl writes ages: `42s`, `7m`, `3h`, `12d`."""
    seconds = max(0, int(length.total_seconds()))
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
