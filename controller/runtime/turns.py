"""One piece of work begins in each turn of the event loop.

Why: a pass without a request never waits. Ten thousand of them, one after the other, held up the loop for
seconds, and the Lease was lost; one of each worker in a turn still held it up for 40 ms. Invariants: first come, first
served; a waiter that is cancelled passes its turn on. It must not bound the number of pieces in progress.
"""

import asyncio
import contextlib
from collections import deque


class Turns:
    """`await next()` returns when the caller may begin."""

    def __init__(self) -> None:
        self._taken = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def next(self) -> None:
        """Wait until no other piece has begun in this turn of the loop."""
        if self._taken:
            await self._wait()
        self._taken = True
        asyncio.get_running_loop().call_soon(self._pass_on)

    async def _wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            with contextlib.suppress(ValueError):
                self._waiting.remove(waiter)
            if waiter.done() and not waiter.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Give the turn to the longest waiter; it is taken until that one has begun."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._taken = False
