"""One gauge of the state: its name, its meaning, its labels, and how its samples are read from the observed state.

Invariant: labels are the object's namespace and name, and words of fixed sets; anything else is shown as `Unknown`.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S")
Sample = tuple[tuple[str, ...], float]
"""Values of the gauge's own labels (without namespace and name), and the value."""

UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class StateGauge(Generic[S]):
    """A gauge over all objects of one kind; `read` gives the samples of one object."""

    name: str
    text: str
    labels: tuple[str, ...]
    read: Callable[[S], Iterable[Sample]]


def bounded(value: str, known: Collection[str]) -> str:
    """A word that anybody could have written into a status, or `Unknown`."""
    return value if value in known else UNKNOWN
