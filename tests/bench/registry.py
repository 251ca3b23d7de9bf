"""The measurements, and the rows that they return.

Why it exists: the command line, the report and the measurements share only these values. Invariant: a row
that has no value is a missed row; a measurement is known by one name. It must not measure.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.bench.ground import Ground


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: `value` has to be at most `limit`; None means that it could not be measured."""

    name: str
    original: str
    limit: float
    value: float | None
    unit: str = "s"
    note: str = ""
    details: Mapping[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the figure is reached."""
        return self.value is not None and self.value <= self.limit


Measure = Callable[["Ground"], Awaitable[list[Row]]]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement; if it is not `usual`, it runs only on request."""

    name: str
    measure: Measure
    about: str
    usual: bool = True
