"""Rows that wait for each other at their worst moments, so that one kill of the controller affects all of them.

Invariant: a scene that ends before its moment, well or not, does not hold up the others.
"""

import asyncio
from collections.abc import Awaitable, Callable


class JointAction:
    """The last of `number` scenes to arrive runs the action; then all continue."""

    def __init__(self, number: int, action: Callable[[], Awaitable[None]]) -> None:
        self._missing = number
        self._deed = action
        self._over = asyncio.Event()

    async def arrive(self) -> None:
        """Wait for the other scenes and for the action."""
        await self.miss()
        await self._over.wait()

    async def miss(self) -> None:
        """Count a scene that has arrived, or that will not arrive any more."""
        self._missing -= 1
        if self._missing == 0:
            try:
                await self._deed()
            finally:
                self._over.set()
