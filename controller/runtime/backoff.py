"""Growing, capped, jittered waits.

Why jitter: many clients that failed at one instant must not come back at one instant. It only ever shortens a
wait, so the cap is a promise. Randomness is injected; nothing here sleeps.
"""

from random import Random

SPREAD = 0.25  # a wait lies between 75 % and 100 % of its nominal length


def growing_delay(failures: int, base: float, cap: float) -> float:
    """Seconds before the next attempt after `failures` earlier ones: base · 2ⁿ, at most cap."""
    # 2**1024 overflows a float, and an object may fail for months
    return min(cap, base * 2.0 ** min(failures, 30))


def jittered(delay: float, random: Random) -> float:
    """`delay`, shortened by up to a quarter."""
    return delay * (1.0 - SPREAD * random.random())


class Backoff:
    """The waits of one repeated attempt; `reset` after success."""

    def __init__(self, base: float, cap: float, random: Random) -> None:
        self._base = base
        self._cap = cap
        self._random = random
        self.failures = 0

    def next(self) -> float:
        """Count one more failure and say how many seconds to wait."""
        delay = growing_delay(self.failures, self._base, self._cap)
        self.failures += 1
        return jittered(delay, self._random)

    def reset(self) -> None:
        """The attempt succeeded: the next failure starts from the shortest wait."""
        self.failures = 0
