"""Waits for rights, quotas and policies: one request for all that wait, and none when nobody waits.

Why: the API server reports neither a granted right nor a raised quota. A missing right is checked by an access review,
every `PROBE` seconds, once for all Rollouts that wait for it. A write that is refused although the right exists (a
quota, a policy) can only be repeated: one of the waiting Rollouts repeats it, and when it succeeds, all do. Invariant:
at most `MAX_AT_ONCE` reviews in a round; everything that waits is woken at least once after the answer changes.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from controller.api.meta import Key
from controller.errors import MoonshiftError, Right

PROBE = 4.0
"""Seconds between two rounds while anything waits."""
MAX_AT_ONCE = 64
"""Reviews in one round; further missing rights take turns."""

_log = logging.getLogger(__name__)


class RightsAwaited(Protocol):
    """The place where refused writes wait."""

    def wait(self, key: Key, right: Right) -> None:
        """The write of `key` was refused; it is woken when a new attempt may succeed."""
        ...

    def forget(self, key: Key) -> None:
        """`key` no longer waits, or is gone."""
        ...


class _Awaited:
    """The keys that wait for one right, in order; `missing` is true once a review has denied the right."""

    def __init__(self) -> None:
        self.waiting: dict[Key, None] = {}
        self.missing = False
        self.trying: Key | None = None


class MissingRights:
    """Missing rights for which the API server refused writes."""

    def __init__(
        self, review: Callable[[Right], Awaitable[bool]], wake: Callable[[Key], None]
    ) -> None:
        self._review = review
        self._wake = wake
        self._awaited: dict[Right, _Awaited] = {}
        self._turned = asyncio.Event()

    def wait(self, key: Key, right: Right) -> None:
        """The write of `key` was refused; it is woken when a new attempt may succeed."""
        awaited = self._awaited.setdefault(right, _Awaited())
        awaited.waiting[key] = None
        if awaited.trying == key:
            awaited.trying = None
        self._turned.set()

    def forget(self, key: Key) -> None:
        """`key` no longer waits, or is gone: a right that nobody waits for is not checked."""
        for right, awaited in list(self._awaited.items()):
            awaited.waiting.pop(key, None)
            if not awaited.waiting:
                del self._awaited[right]

    async def run(self) -> None:
        """Check while anything waits, until cancelled."""
        while True:
            while not self._awaited:
                self._turned.clear()
                await self._turned.wait()
            await asyncio.sleep(PROBE)
            for right in tuple(self._awaited)[:MAX_AT_ONCE]:
                if right in self._awaited:
                    await self._look(right)

    async def _look(self, right: Right) -> None:
        awaited = self._awaited.pop(right)
        self._awaited[right] = awaited  # the others come before it in the next round
        try:
            allowed = await self._review(right)
        except MoonshiftError as failure:
            _log.warning("a right could not be reviewed", extra={"error": str(failure)})
            return
        if self._awaited.get(right) is not awaited:
            return  # forgotten while the API server was asked
        if not allowed:
            awaited.missing = True
        elif awaited.missing or awaited.trying is not None:
            # the right was granted, or the repeated write was not refused again
            self._wake_all(right)
        else:
            self._try_one(right, awaited)

    def _wake_all(self, right: Right) -> None:
        for key in self._awaited.pop(right).waiting:
            self._wake(key)

    def _try_one(self, right: Right, awaited: _Awaited) -> None:
        key = next(iter(awaited.waiting))
        del awaited.waiting[key]
        awaited.trying = key
        self._wake(key)
        if not awaited.waiting:
            del self._awaited[right]
