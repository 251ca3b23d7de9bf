"""Faults of requests: refusals, lost answers, slowness, an API server that is away."""

import asyncio

from aiohttp import web

from tests.faults.proxy import Fault
from tests.kill.proxy import cut


class Refuses(Fault):
    """Every n-th request is answered with an error status and not passed on; only writes, or every verb."""

    def __init__(self, code: int, reason: str, *, writes: bool = True, every: int = 3) -> None:
        super().__init__()
        self._code, self._reason, self._writes, self._every = code, reason, writes, every
        self._seen = 0

    async def refusal(self, request: web.Request, write: str | None) -> web.StreamResponse | None:
        """The status, as the API server words it."""
        if self._writes and write is None:
            return None
        self._seen += 1
        if self._seen % self._every:
            return None
        self.times += 1
        return status(self._code, self._reason)


class Cuts(Fault):
    """Every n-th request of any verb ends with its connection, and is not passed on."""

    def __init__(self, every: int = 3) -> None:
        super().__init__()
        self._every, self._seen = every, 0

    async def refusal(self, request: web.Request, write: str | None) -> web.StreamResponse | None:
        """Nobody answers."""
        self._seen += 1
        if self._seen % self._every:
            return None
        self.times += 1
        return cut(request)


class LosesAnswers(Fault):
    """Every n-th write is carried out, and its answer is lost."""

    def __init__(self, every: int = 3) -> None:
        super().__init__()
        self._every, self._seen = every, 0

    def loses(self, request: web.Request, write: str | None) -> bool:
        """Whether the answer to this write is lost."""
        self._seen += write is not None
        return write is not None and self._seen % self._every == 0


class IsSlow(Fault):
    """Every request takes longer."""

    costs = 0.0

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def refusal(self, request: web.Request, write: str | None) -> web.StreamResponse | None:
        """Wait; then refuse nothing."""
        self.times += 1
        await asyncio.sleep(self._seconds)
        return None


class IsAway(Fault):
    """From a certain write on, every connection is cut for some seconds, as while the API server restarts."""

    costs = 20.0
    """Every watch asks a few times, and begins again; measured were 11."""

    def __init__(self, at_write: int, seconds: float) -> None:
        super().__init__()
        self._at, self._seconds = at_write, seconds
        self._writes, self._until = 0, 0.0

    @property
    def injected(self) -> int:
        """The server is away once."""
        return 1

    async def refusal(self, request: web.Request, write: str | None) -> web.StreamResponse | None:
        """Nobody answers."""
        now = asyncio.get_running_loop().time()
        self._writes += write is not None
        if self._writes == self._at and not self._until:
            self._until = now + self._seconds
        if now >= self._until:
            return None
        self.times += 1
        return cut(request)


def status(code: int, reason: str) -> web.Response:
    """A Status, as the API server answers."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "message": "a fault of the test",
        "code": code,
    }
    headers = {"Retry-After": "1"} if code == 429 else {}
    return web.json_response(body, status=code, headers=headers)
