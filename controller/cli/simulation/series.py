"""Values of metrics on the command line: `errors=0.01,0.2`, and `errors/stable=0.01` of the stable revision."""

import click

from controller.simulation.measures import STABLE


def read_series(texts: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
    """The values by metric; a wrong one is a wrong command line."""
    return dict(map(_series, texts))


def _series(text: str) -> tuple[str, tuple[float, ...]]:
    name, equals, values = text.partition("=")
    try:
        found = tuple(float(value) for value in values.split(","))
    except ValueError:
        found = ()
    if not equals or not name or not found:
        raise click.UsageError(
            f"--metric {text}: write it as NAME=VALUE,VALUE, or NAME{STABLE}=VALUE,VALUE"
        )
    return name, found
