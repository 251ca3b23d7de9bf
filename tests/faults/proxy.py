"""A way to the API server on which requests and watches go wrong as a fault decides.

Invariant: without a fault everything passes unchanged; a fault never invents an object, it refuses, delays, repeats or
keeps back what the API server says. It must not judge.
"""

from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web

from tests.kill.proxy import Moment, WriteProxy, cut


class Fault:
    """A fault that does nothing; the subclasses override its methods."""

    least = 2
    """How often it goes wrong at least in any release."""
    restarts = False
    """Whether the controller is killed when the release begins: the fault is about its start."""

    costs = 1.5
    """Additional requests that one occurrence of the fault may cause, compared with a release without a fault.

    Measured were 0.3 to 1.1: a request that is refused is sent again, and seldom another one with it. With 3 the
    refusal of every third request would allow any number of requests.
    """

    def __init__(self) -> None:
        self.times = 0
        """How often something went wrong."""

    @property
    def injected(self) -> int:
        """The number of injected faults; requests that are repeated during a fault do not count."""
        return self.times

    async def refusal(self, request: web.Request, write: str | None) -> web.StreamResponse | None:
        """An answer in place of the API server's; `write` says which counted write it is, None of all others."""
        return None

    def loses(self, request: web.Request, write: str | None) -> bool:
        """Whether the request is passed on and its answer is lost."""
        return False

    def body(self, request: web.Request, body: bytes) -> bytes:
        """The answer to a list request, or to a request of discovery."""
        return body

    def lines(self, request: web.Request, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The lines of a watch."""
        return lines


class FaultyProxy(WriteProxy):
    """A proxy with a fault, or none."""

    fault: Fault | None = None

    @property
    def _present(self) -> Fault | None:
        return self.fault if self._counting and self._app else None

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        fault = self._present
        if fault is None:
            return await super()._answer(request)
        refused = await fault.refusal(request, self._meant(request))
        return await super()._answer(request) if refused is None else refused

    async def _pass_on(
        self,
        request: web.Request,
        response: aiohttp.ClientResponse,
        passed: web.StreamResponse,
        moment: Moment | None,
    ) -> web.StreamResponse:
        fault = self._present
        if "watch" in request.query:
            return await self._watch(request, response, passed)
        if fault is None:
            return await super()._pass_on(request, response, passed, moment)
        body = await response.read()
        if fault.loses(request, self._meant(request)):
            fault.times += 1
            return cut(request)
        if request.method == "GET" and response.status == 200:
            body = fault.body(request, body)
        headers = {k: v for k, v in passed.headers.items() if k.lower() != "content-length"}
        return web.Response(status=response.status, headers=headers, body=body)

    async def _watch(
        self, request: web.Request, response: aiohttp.ClientResponse, passed: web.StreamResponse
    ) -> web.StreamResponse:
        """Pass a watch on, line by line; the fault also affects a watch that was open before."""
        try:
            await passed.prepare(request)
            lines = self._lines(response)
            line = await anext(lines, None)
            while line is not None:
                fault = self._present
                if fault is None:
                    await passed.write(line)
                    line = await anext(lines, None)
                    continue
                unheard: list[bytes] = []
                during = self._during(fault, line, lines, unheard)
                async for faulty in fault.lines(request, during):
                    await passed.write(faulty)
                # A fault that has ended a watch leaves nothing; one that is over leaves the line after it.
                line = unheard[0] if unheard else None
            await passed.write_eof()
        except (aiohttp.ClientError, ConnectionError):
            return cut(request)
        return passed

    async def _during(
        self, fault: Fault, first: bytes, lines: AsyncIterator[bytes], unheard: list[bytes]
    ) -> AsyncIterator[bytes]:
        """The lines that arrive while the fault lasts; the first line after it is kept in `unheard`."""
        yield first
        async for line in lines:
            if self._present is not fault:
                unheard.append(line)
                return
            yield line

    @staticmethod
    async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        rest = b""
        async for chunk in response.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line + b"\n"
