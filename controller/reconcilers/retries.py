"""The time until a refused action is repeated: short at first, then longer each time, up to ten seconds.

Why: no event reports that a kind is served now, or that a worker runs again; only a new attempt shows it. A write that
the API server forbade is not repeated by the clock: `rights` asks once for all that wait. Invariant: a refusal for
another reason or about another object, and every change of the Rollout's spec, starts from the shortest wait; a wait
never exceeds `LONGEST`.
"""

from collections.abc import Callable
from random import Random

from controller.api.meta import Key
from controller.domain.decision import Refusal
from controller.reconcilers.rights import RightsAwaited
from controller.runtime.backoff import Backoff

SHORTEST = 1.0
LONGEST = 10.0
"""Seconds until the first repeated attempt, and at most until any other."""

_Obstacle = tuple[int, str, str]
"""The Rollout's generation, the reason, and the refused object."""


class RefusalWaits:
    """The waits of all objects with a refused action."""

    def __init__(
        self,
        random: Random,
        rights: RightsAwaited,
        waiter: Callable[[Key], Key] = lambda key: key,
    ) -> None:
        self._random = random
        self._rights = rights
        self._waiter = waiter
        self._waits: dict[Key, tuple[_Obstacle, Backoff]] = {}

    def next(self, key: Key, generation: int, refusal: Refusal) -> float | None:
        """Seconds until the next attempt; None if a change that we watch has to come first."""
        if refusal.right is not None:
            self._rights.wait(self._waiter(key), refusal.right)
            return None
        if refusal.retry_after is None:
            return None
        obstacle = (generation, refusal.reason, refusal.object)
        before, wait = self._waits.get(key, (None, None))
        if wait is None or before != obstacle:
            wait = Backoff(SHORTEST, LONGEST, self._random)
            self._waits[key] = (obstacle, wait)
        return wait.next()

    def forget(self, key: Key) -> None:
        """No action is refused any more, or the object is gone."""
        self._waits.pop(key, None)
        self._rights.forget(self._waiter(key))
