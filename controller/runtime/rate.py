"""A token bucket: at most `burst` at once, `rate` per second in the long run.

Invariant: tokens are handed out in the order they were asked for, and a caller that gives up while waiting
gives its token back. It is used from one event loop only and measures time with it.
"""

import asyncio


class TokenBucket:
    """`await take()` returns when the caller may go on."""

    def __init__(self, rate: float, burst: int) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(
                f"a bucket needs a rate above 0 and a burst of at least 1, got {rate} and {burst}"
            )
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._filled_at: float | None = None

    async def take(self) -> None:
        """Wait for one token."""
        delay = self._reserve()
        if delay <= 0:
            return
        try:
            await asyncio.sleep(delay)
        except asyncio.CancelledError:
            self._tokens = min(self._burst, self._tokens + 1)
            raise

    def try_take(self) -> bool:
        """Take a token if one is available now; otherwise take none and return False."""
        if self._reserve() <= 0:
            return True
        self._tokens += 1
        return False

    def _reserve(self) -> float:
        """Take a token that may not exist yet; seconds until it does."""
        now = asyncio.get_running_loop().time()
        if self._filled_at is not None:
            self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now
        self._tokens -= 1
        return -self._tokens / self._rate
