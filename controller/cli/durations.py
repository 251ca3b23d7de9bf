"""Durations on the command line, as kubectl writes them: `90s`, `5m`, `1h30m`, `7d`; `0` means without end."""

import re
from datetime import timedelta

import click

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
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
        if text.isdecimal():
            return timedelta(seconds=int(text))
        if text and not _PART.sub("", text):
            return timedelta(seconds=sum(float(n) * _SECONDS[u] for n, u in _PART.findall(text)))
        raise click.BadParameter(
            f"{text!r} is no duration: write it like 90s, 5m or 1h30m", ctx=ctx, param=param
        )


DURATION = Duration()


def span(length: timedelta) -> str:
    """As kubectl writes ages: `42s`, `7m`, `3h`, `12d`."""
    seconds = max(0, int(length.total_seconds()))
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
