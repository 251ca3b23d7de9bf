"""When a refused action is tried again: soon at first, then later each time, up to ten seconds.

Why: a kind that is served at last or a worker that is back is no event; only trying tells that it is so. A write that
the API server forbade is not tried again by the clock: `rights` asks once for all that wait. Invariant: what is refused
for another reason, or about another object, and every change of the Rollout's spec, starts from the shortest wait; a
wait never exceeds `LONGEST`.
"""

from collections.abc import Callable
from random import Random

from controller.api.meta import Key
from controller.domain.decision import Refusal
from controller.reconcilers.rights import RightsAwaited
from controller.runtime.backoff import Backoff

SHORTEST = 1.0
LONGEST = 10.0
"""Seconds."""

_Said = tuple[int, str, str]


class RefusalWaits:
    """The waits of every object that has something refused."""

    def __init__(
        self,
        random: Random,
        rights: RightsAwaited,
        waiter: Callable[[Key], Key] = lambda key: key,
    ) -> None:
        self._random = random
        self._rights = rights
        self._waiter = waiter
        self._waits: dict[Key, tuple[_Said, Backoff]] = {}

    def next(self, key: Key, generation: int, refusal: Refusal) -> float | None:
        """Seconds until the next try; None where a change that we see has to come first."""
        if refusal.right is not None:
            self._rights.wait(self._waiter(key), refusal.right)
            return None
        if refusal.retry_after is None:
            return None
        said = (generation, refusal.reason, refusal.object)
        before, wait = self._waits.get(key, (None, None))
        if wait is None or before != said:
            wait = Backoff(SHORTEST, LONGEST, self._random)
            self._waits[key] = (said, wait)
        return wait.next()

    def forget(self, key: Key) -> None:
        """Nothing is refused any more, or the object is gone."""
        self._waits.pop(key, None)
        self._rights.forget(self._waiter(key))
