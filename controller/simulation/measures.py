"""Metric sources of a simulated cluster: each metric has given values, one for each measurement.

Invariant: it answers like `controller.outbound.measuring`: it keeps one answer for a metric of a gate, for the next
observation. The last value of a series repeats; a metric without a series has no data. The stable revision's value, for
comparisons, has a series of its own: `NAME/stable`.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from controller.api.meta import Key
from controller.domain.decision import Measure
from controller.domain.gates.measurement import Measurement
from controller.domain.gates.watching import Answer

STABLE = "/stable"


class SimulatedMeasures:
    """Given series, and how far each of them was read."""

    def __init__(
        self,
        now: Callable[[], datetime],
        answered: Callable[[Key], None],
    ) -> None:
        """`answered` is called with the key of a Rollout when an answer came."""
        self._now = now
        self._answered = answered
        self.series: dict[str, Sequence[float | str]] = {}
        self._read: dict[str, int] = {}
        self._answers: dict[tuple[Key, str, str], Answer] = {}

    def ask(self, key: Key, asked: Measure) -> None:
        """Answer with the next value, unless that is answered already."""
        place = (key, asked.gate.partition("@")[0], asked.metric.name)
        known = self._answers.get(place)
        if known is not None and (known.gate, known.number) == (asked.gate, asked.number):
            return
        name = asked.metric.name
        at = self._read.get(name, 0)
        self._read[name] = at + 1
        prometheus = asked.metric.prometheus
        measured = Measurement(
            at=self._now(),
            value=self._value(name, at),
            stable=self._value(name + STABLE, at) if asked.stable is not None else None,
            samples=float(asked.metric.min_samples),
            query=prometheus.query if prometheus is not None else "",
        )
        self._answers[place] = Answer(asked.gate, name, asked.number, measured)
        self._answered(key)

    def answers(self, key: Key) -> tuple[Answer, ...]:
        """The answers for the gates of a Rollout."""
        return tuple(answer for (owner, *_), answer in self._answers.items() if owner == key)

    def forget(self, key: Key) -> None:
        """The Rollout is gone, or measures nothing any more."""
        self._answers = {place: a for place, a in self._answers.items() if place[0] != key}

    def _value(self, name: str, at: int) -> float | str | None:
        values = self.series.get(name, ())
        return values[min(at, len(values) - 1)] if values else None
