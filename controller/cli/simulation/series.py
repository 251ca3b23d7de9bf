"""Values of metrics on the command line: `errors=0.01,0.2`, and `errors/stable=0.01` of the stable revision."""

import click

from controller.domain.gates.value_rules import number_in
from controller.simulation.measures import STABLE


def read_series(texts: tuple[str, ...]) -> dict[str, tuple[float | str, ...]]:
    """The values by metric; a wrong one is a wrong command line."""
    return dict(map(_series, texts))


def _series(text: str) -> tuple[str, tuple[float | str, ...]]:
    name, _, values = text.partition("=")
    found = tuple(values.split(","))
    if not name or not all(found):
        raise click.UsageError(
            f"--metric {text}: write it as NAME=VALUE,VALUE, or NAME{STABLE}=VALUE,VALUE"
        )
    return name, tuple(map(_value, found))


def _value(text: str) -> float | str:
    """A number; any other value is the text of a page."""
    number = number_in(text)
    return text if number is None else number
