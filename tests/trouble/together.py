"""Rows that meet at their worst moments, so that one kill of the controller meets all of them.

Invariant: a scene that ends before its moment, well or not, does not hold up the others.
"""

import asyncio
from collections.abc import Awaitable, Callable


class Appointment:
    """The last of `number` to arrive does the deed; then all go on."""

    def __init__(self, number: int, deed: Callable[[], Awaitable[None]]) -> None:
        self._missing = number
        self._deed = deed
        self._over = asyncio.Event()

    async def arrive(self) -> None:
        """Wait for the others and for the deed."""
        await self.miss()
        await self._over.wait()

    async def miss(self) -> None:
        """One will not come any more, or has come."""
        self._missing -= 1
        if self._missing == 0:
            try:
                await self._deed()
            finally:
                self._over.set()
