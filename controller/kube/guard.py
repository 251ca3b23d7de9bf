"""The accounts that may read the metrics, remembered for a bounded time.

Why: only chosen accounts may read the names of Rollouts and their problems. Invariant: the guard fails closed: an
account reads nothing until it was found allowed. Only the hash of a token is kept. The memory is bounded, and so are
the questions to the API server. A token that was good before is asked about in a turn of its own, so that any number
of bogus tokens never delays it. It must not know how the API server is asked.
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
"""The time for which an allowed token is not checked again; a revoked right may work for that long."""
REFUSED_SECONDS = 10.0
"""The time for which a refused token is not checked again; it is short, so that a granted right works soon."""
MAX_KNOWN = 64
"""Tokens that are remembered at once."""
REVIEWS_PER_SECOND, REVIEWS_AT_ONCE = 2.0, 20
"""The rate and the burst of questions to the API server: a flood of tokens must not reach it."""
_SCHEME = "bearer "

log = logging.getLogger(__name__)


class Reviewer(Protocol):
    """Asks the API server whether an account has a right."""

    async def review(self, token: str, path: str) -> Verdict:
        """The account of the token, and whether it may get the path. Raises MoonshiftError if the API server does not
        answer.
        """
        ...


class _Known(NamedTuple):
    verdict: Verdict
    until: float


class _Lane:
    """The questions about one token, or about all strangers: one at a time, and few."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.bucket = TokenBucket(REVIEWS_PER_SECOND, REVIEWS_AT_ONCE)


class Guard:
    """Judges requests for one path. `monotonic` gives seconds that only grow."""

    def __init__(self, reviewer: Reviewer, path: str, monotonic: Callable[[], float]) -> None:
        self._reviewer = reviewer
        self._path = path
        self._monotonic = monotonic
        self._known: dict[bytes, _Known] = {}
        self._strangers = _Lane()
        self._once_good: dict[bytes, _Lane] = {}
        self.problem: str | None = None
        """Why no account can be allowed at present."""

    async def judge(self, authorization: str) -> Verdict:
        """The verdict on the header `Authorization` of a request; raises nothing."""
        token = authorization[len(_SCHEME) :].strip()
        if not authorization.lower().startswith(_SCHEME) or not token:
            return Verdict.UNKNOWN
        key = hashlib.sha256(token.encode(errors="replace")).digest()
        if (found := self._remembered(key)) is not None:
            return found
        lane = self._once_good.get(key, self._strangers)
        if not lane.bucket.try_take():
            return Verdict.BUSY
        async with lane.turn:
            return self._remembered(key) or await self._asked(key, token)

    def _remembered(self, key: bytes) -> Verdict | None:
        known = self._known.get(key)
        return known.verdict if known is not None and known.until > self._monotonic() else None

    async def _asked(self, key: bytes, token: str) -> Verdict:
        try:
            verdict = await self._reviewer.review(token, self._path)
        except MoonshiftError as failure:
            self._set_problem(str(failure))
            return Verdict.UNCHECKED
        self._set_problem(None)
        allowed = verdict is Verdict.ALLOWED
        self._note_good(key, allowed=allowed)
        self._remember(key, verdict, ALLOWED_SECONDS if allowed else REFUSED_SECONDS)
        return verdict

    def _note_good(self, key: bytes, *, allowed: bool) -> None:
        """An allowed token gets a lane of its own; the one that was good longest ago loses its lane."""
        lane = self._once_good.pop(key, None)
        if allowed:
            if len(self._once_good) >= MAX_KNOWN:
                del self._once_good[next(iter(self._once_good))]
            self._once_good[key] = lane or _Lane()

    def _remember(self, key: bytes, verdict: Verdict, seconds: float) -> None:
        now = self._monotonic()
        self._known = {k: known for k, known in self._known.items() if known.until > now}
        while len(self._known) >= MAX_KNOWN:
            del self._known[min(self._known, key=lambda k: self._known[k].until)]
        self._known[key] = _Known(verdict, now + seconds)

    def _set_problem(self, problem: str | None) -> None:
        if problem is not None and problem != self.problem:
            log.warning("no account can read the metrics", extra={"error": problem})
        self.problem = problem
