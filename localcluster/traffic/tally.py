"""Counts the answers of each image and the failures, in all and per window.

Why it exists: a release is judged by shares at its steps and by failures at any time. Invariant: every request that
was sent is counted once, as answered by an image or as failed, and in the windows that were open when it was sent: a
request that was sent before a window opened does not count in it. Windows overlap freely. It must do no I/O.
"""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

KEPT_FAILURES = 50


@dataclass(frozen=True, slots=True)
class Failure:
    """One request that was not answered with 200: when (seconds since the start), in which stage, why."""

    at: float
    stage: str
    sort: str
    why: str


@dataclass(slots=True)
class Window:
    """The answers and failures of a stretch of time."""

    answered: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By sort of request and image that answered."""
    failed: int = 0

    def total(self, sort: str) -> int:
        """Requests of a sort that were answered."""
        return sum(number for (of, _), number in self.answered.items() if of == sort)

    def share(self, sort: str, image: str) -> float:
        """The part of a sort's answers that came from an image; 0 if there were none."""
        return self.answered[sort, image] / max(self.total(sort), 1)


class Sent:
    """A request that is under way."""

    def __init__(self, tally: "Tally", sort: str, windows: tuple[Window, ...]) -> None:
        self._tally = tally
        self._sort = sort
        self._windows = windows

    def answered(self, image: str) -> None:
        """Count its answer."""
        for window in self._windows:
            window.answered[self._sort, image] += 1

    def failed(self, at: float, why: str) -> None:
        """Count its failure; the first ones of a run are kept whole."""
        for window in self._windows:
            window.failed += 1
        self._tally.keep(Failure(at, self._tally.stage, self._sort, why))


class Tally:
    """All counts of one run."""

    def __init__(self) -> None:
        self.whole = Window()
        self.failures: list[Failure] = []
        self.stage = ""
        """The present stage of the run; failures are marked with it."""
        self._open: list[Window] = []

    @property
    def requests(self) -> int:
        """Requests that have ended, well or not."""
        return self.whole.answered.total() + self.whole.failed

    def sent(self, sort: str) -> Sent:
        """A request goes out."""
        return Sent(self, sort, (self.whole, *self._open))

    def keep(self, failure: Failure) -> None:
        """The first failures are kept whole."""
        if len(self.failures) < KEPT_FAILURES:
            self.failures.append(failure)

    @contextmanager
    def window(self) -> Iterator[Window]:
        """Count requests that are sent in a block separately."""
        window = Window()
        self._open.append(window)
        try:
            yield window
        finally:
            self._open = [other for other in self._open if other is not window]


def sigmas(share: float, expected: float, requests: int) -> float:
    """Return by how many standard deviations a share of `requests` misses the expected one.

    A share of exactly 0 or 1 has no deviation: any miss is infinite.
    """
    deviation = math.sqrt(expected * (1 - expected) / max(requests, 1))
    missed = abs(share - expected)
    if deviation == 0:
        return math.inf if missed else 0.0
    return missed / deviation
