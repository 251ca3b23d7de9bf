"""The rights of the ServiceAccounts that scripts of namespaces act with.

Invariant: a yes is never kept, so a revoked right is noticed before the next write. A no is kept for `KEPT` seconds:
one probe wakes all Rollouts that wait for the right, and passes in between send no request.
"""

from collections.abc import Awaitable, Callable

from controller.errors import Right

KEPT = 5.0
"""Seconds; a little more than lies between two probes."""


class AccountRights:
    """Asks the API server, and remembers its latest denials."""

    def __init__(
        self, review: Callable[[Right], Awaitable[bool]], monotonic: Callable[[], float]
    ) -> None:
        self._review = review
        self._monotonic = monotonic
        self._denied: dict[Right, float] = {}

    async def may(self, right: Right) -> bool:
        """Whether the right is there, before a write."""
        self._forget()
        return right not in self._denied and await self.review(right)

    async def review(self, right: Right) -> bool:
        """Whether the right is there now."""
        allowed = await self._review(right)
        if allowed or not right.account:
            self._denied.pop(right, None)
        else:
            self._denied[right] = self._monotonic()
        return allowed

    def _forget(self) -> None:
        now = self._monotonic()
        self._denied = {right: at for right, at in self._denied.items() if now - at < KEPT}
