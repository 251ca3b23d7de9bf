"""The accounts that may read the metrics, remembered for a bounded time.

Why: only their owners shall read the names of Rollouts and their problems. Invariant: the guard fails
closed: an account that was not found allowed reads nothing. No token is kept, only its hash; the memory is
bounded, and so is how often the API server is asked, whoever asks us. It must not know how the API server is asked.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable
from typing import NamedTuple, Protocol

from controller.errors import MoonshiftError
from controller.runtime.rate import TokenBucket
from controller.telemetry.secure import Verdict

ALLOWED_SECONDS = 60.0
"""How long an allowed token is not asked about again: as long as a right that was taken away may still work."""
REFUSED_SECONDS = 10.0
"""The same of a refused one, so that a right that was given works soon."""
MAX_KNOWN = 64
"""Tokens that are remembered at once."""
REVIEWS_PER_SECOND, REVIEWS_AT_ONCE = 2.0, 20
"""How often the API server is asked in the long run, and in a burst: a flood of tokens must not reach it."""
_SCHEME = "bearer "

log = logging.getLogger(__name__)


class Reviewer(Protocol):
    """Asks the API server."""

    async def review(self, token: str, path: str) -> Verdict:
        """Whose token it is and whether that account may get the path. Raises MoonshiftError where nobody answers."""
        ...


class _Known(NamedTuple):
    verdict: Verdict
    until: float


class Guard:
    """Judges requests for one path. `monotonic` gives seconds that only grow."""

    def __init__(self, reviewer: Reviewer, path: str, monotonic: Callable[[], float]) -> None:
        self._reviewer = reviewer
        self._path = path
        self._monotonic = monotonic
        self._known: dict[bytes, _Known] = {}
        self._bucket = TokenBucket(REVIEWS_PER_SECOND, REVIEWS_AT_ONCE)
        self._asking = asyncio.Lock()
        self.problem: str | None = None
        """Why nobody can be let in at present."""

    async def judge(self, authorization: str) -> Verdict:
        """The verdict on the header `Authorization` of a request; raises nothing."""
        token = authorization[len(_SCHEME) :].strip()
        if not authorization.lower().startswith(_SCHEME) or not token:
            return Verdict.UNKNOWN
        key = hashlib.sha256(token.encode(errors="replace")).digest()
        if (found := self._remembered(key)) is not None:
            return found
        if not self._bucket.try_take():
            return Verdict.BUSY
        async with self._asking:
            return self._remembered(key) or await self._asked(key, token)

    def _remembered(self, key: bytes) -> Verdict | None:
        known = self._known.get(key)
        return known.verdict if known is not None and known.until > self._monotonic() else None

    async def _asked(self, key: bytes, token: str) -> Verdict:
        try:
            verdict = await self._reviewer.review(token, self._path)
        except MoonshiftError as failure:
            self._say(str(failure))
            return Verdict.UNCHECKED
        self._say(None)
        allowed = verdict is Verdict.ALLOWED
        self._remember(key, verdict, ALLOWED_SECONDS if allowed else REFUSED_SECONDS)
        return verdict

    def _remember(self, key: bytes, verdict: Verdict, seconds: float) -> None:
        now = self._monotonic()
        self._known = {k: known for k, known in self._known.items() if known.until > now}
        while len(self._known) >= MAX_KNOWN:
            del self._known[min(self._known, key=lambda k: self._known[k].until)]
        self._known[key] = _Known(verdict, now + seconds)

    def _say(self, problem: str | None) -> None:
        if problem is not None and problem != self.problem:
            log.warning("nobody can be let in to the metrics", extra={"error": problem})
        self.problem = problem
