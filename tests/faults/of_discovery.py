"""Faults at the start of a controller: the API server lists no kinds, or not all of them."""

import asyncio

from aiohttp import web

from tests.cluster.work import START_COSTS
from tests.faults.of_requests import status
from tests.faults.proxy import Fault

SECONDS = 4.0
GATEWAYS = "/apis/networking.istio.io"


class HidesDiscovery(Fault):
    """No request of discovery is answered in the first seconds of a new controller."""

    restarts = True
    costs = START_COSTS + 30.0
    """A start, and questions that are asked again for some seconds; measured were 51 to 67."""

    def __init__(self) -> None:
        super().__init__()
        self._until: float | None = None

    @property
    def injected(self) -> int:
        """One: all requests of the start meet the same fault."""
        return 1

    async def refusal(self, request: web.Request, write: str | None) -> web.StreamResponse | None:
        """Answer 503 to the requests that this fault hides."""
        if request.method != "GET" or not self.hides(request.path) or not self._now():
            return None
        self.times += 1
        return self.answer()

    def hides(self, path: str) -> bool:
        """Whether a path belongs to discovery: such a path leads to no object."""
        parts = path.strip("/").split("/")
        return parts[0] in ("api", "apis") and len(parts) <= 3 - (parts[0] == "api")

    def answer(self) -> web.StreamResponse:
        """The answer in place of the API server's."""
        return status(503, "ServiceUnavailable")

    def _now(self) -> bool:
        now = asyncio.get_running_loop().time()
        if self._until is None:
            self._until = now + SECONDS
        return now < self._until


class ForgetsKinds(HidesDiscovery):
    """For some seconds gateway kinds are not served, as while their definitions are installed again."""

    def hides(self, path: str) -> bool:
        """Only the gateways' group: its versions, its kinds, and their objects."""
        return path.startswith(GATEWAYS)

    def answer(self) -> web.StreamResponse:
        """The answer that the gateway kinds do not exist (404)."""
        return status(404, "NotFound")
