"""Checks of a simulated cluster: each has given answers, one for each time that it is asked.

Invariant: it answers like `controller.outbound.checking`: the next observation has the answer. The last answer of a
check repeats; a check without answers passes.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from controller.api.meta import Key
from controller.domain.checks.answering import CheckAnswer, Passes, Said
from controller.domain.decision import AskCheck

PASSES = Passes("simulated")


class SimulatedChecks:
    """Given answers, and how often each check was asked."""

    def __init__(self, now: Callable[[], datetime], answered: Callable[[Key], None]) -> None:
        """`answered` is called with the key of a Rollout when an answer came."""
        self._now = now
        self._answered = answered
        self.series: dict[str, Sequence[Said]] = {}
        self.asked: list[AskCheck] = []
        """Every question, in order."""
        self._answers: dict[tuple[Key, str], CheckAnswer] = {}

    def ask(self, key: Key, asked: AskCheck) -> None:
        """Answer with the next answer, unless that is answered already."""
        known = self._answers.get((key, asked.id))
        if known is not None and known.turn == asked.turn:
            return
        self.asked.append(asked)
        given = self.series.get(asked.check.name, ())
        said = given[min(asked.turn, len(given)) - 1] if given else PASSES
        self._answers[key, asked.id] = CheckAnswer(asked.id, asked.turn, self._now(), said)
        self._answered(key)

    def answers(self, key: Key, running: Collection[str]) -> tuple[CheckAnswer, ...]:
        """The answers for the checks of a Rollout."""
        return tuple(
            answer
            for (owner, one), answer in self._answers.items()
            if owner == key and one in running
        )

    def forget(self, key: Key) -> None:
        """The Rollout is gone, or no check of it waits for an answer."""
        self._answers = {place: a for place, a in self._answers.items() if place[0] != key}
