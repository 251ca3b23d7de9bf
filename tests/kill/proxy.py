"""A way to the API server that can end the controller at any of its writes.

It stands between one controller and the API server, in plain HTTP on 127.0.0.1, and passes everything on, watches
included. Invariant: only what the controller means to change is counted (writes to objects of the namespace; no
Events, no Leases), so that the n-th write of two runs is the same in kind; nothing is ever changed on the way.
"""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Self

import aiohttp
from aiohttp import web

from localcluster.plane import Plane

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
UNCOUNTED = frozenset({"events", "leases"})
HOP_BY_HOP = frozenset(
    {"host", "connection", "transfer-encoding", "content-length", "content-encoding", "keep-alive"}
)


class Moment(StrEnum):
    """The moment of a write at which the controller is killed."""

    UNSENT = "before the write is passed on"
    UNANSWERED = "after the write, before its answer"
    ANSWERED = "after the answer"


Killer = Callable[[], Awaitable[None]]


class WriteProxy:
    """Counts the writes to one namespace, and kills at one of them; make it with `serving`."""

    def __init__(self, plane: Plane, namespace: str) -> None:
        self._plane = plane
        self._namespace = namespace
        self._session: aiohttp.ClientSession
        self._target: tuple[int, Moment] | None = None
        self._kill: Killer
        self._app = ""
        self._counting = False
        self.port = 0
        self.writes: list[str] = []
        self.asked = Counter[str]()
        """All requests since the writes are counted, by verb and kind, the refused ones as well."""

    @classmethod
    @asynccontextmanager
    async def serving(cls, plane: Plane, namespace: str) -> AsyncIterator[Self]:
        """Listen for the length of a block."""
        proxy = cls(plane, namespace)
        trust = ssl.create_default_context(cafile=plane.ca_path)
        connector = aiohttp.TCPConnector(ssl=trust, limit=0)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", proxy._hear)
        runner = web.AppRunner(app, shutdown_timeout=0.1, auto_decompress=False)
        async with aiohttp.ClientSession(
            plane.url, connector=connector, timeout=timeout, auto_decompress=False
        ) as proxy._session:
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            proxy.port = runner.addresses[0][1]
            try:
                yield proxy
            finally:
                await runner.cleanup()

    def watch(self, app: str, kill: Killer, target: tuple[int, Moment] | None = None) -> None:
        """Count the writes for one application from here on; at `target` (1-based), kill."""
        self._app, self._kill, self._target = app, kill, target
        self.writes, self.asked = [], Counter()
        self._counting = True

    def disarm(self) -> None:
        """Count no further and kill nobody."""
        self._target, self._counting = None, False

    async def _hear(self, request: web.Request) -> web.StreamResponse:
        if self._counting:
            self.asked[short_name(request)] += 1
        return await self._answer(request)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        moment = self._count(request)
        if moment is Moment.UNSENT:
            await self._kill()
            return cut(request)
        headers = {k: v for k, v in request.headers.items() if k.lower() not in HOP_BY_HOP}
        body = await request.read() if request.can_read_body else None
        async with self._session.request(
            request.method, request.rel_url, headers=headers, data=body
        ) as response:
            passed = web.StreamResponse(
                status=response.status,
                headers={k: v for k, v in response.headers.items() if k.lower() not in HOP_BY_HOP},
            )
            if moment is Moment.UNANSWERED:
                await response.read()
                await self._kill()
                return cut(request)
            return await self._pass_on(request, response, passed, moment)

    async def _pass_on(
        self,
        request: web.Request,
        response: aiohttp.ClientResponse,
        passed: web.StreamResponse,
        moment: Moment | None,
    ) -> web.StreamResponse:
        try:
            await passed.prepare(request)
            async for chunk in response.content.iter_any():
                await passed.write(chunk)
            await passed.write_eof()
        except (aiohttp.ClientError, ConnectionError):
            return cut(request)
        if moment is Moment.ANSWERED:
            await self._kill()
        return passed

    def _count(self, request: web.Request) -> Moment | None:
        """Count the write; return its moment at which the controller is to be killed, or None."""
        meant = self._meant(request)
        if meant is None or not self._counting:
            return None
        self.writes.append(meant)
        if self._target is None or len(self.writes) != self._target[0]:
            return None
        return self._target[1]

    def _meant(self, request: web.Request) -> str | None:
        if request.method not in WRITES or "dryRun" in request.query:
            return None
        _, _, inside = request.path.partition(f"/namespaces/{self._namespace}/")
        resource, _, rest = inside.partition("/")
        if not inside or resource in UNCOUNTED:
            return None
        name, _, subresource = rest.partition("/")
        # Pods are made under names that nobody can know before.
        if not name.startswith(self._app) and name:
            return None
        return " ".join(filter(None, (request.method, resource, subresource)))


def short_name(request: web.Request) -> str:
    """The verb of a request, and its kind; instead of the kind the path, if the path names none."""
    verb = "WATCH" if "watch" in request.query else request.method
    parts = request.path.strip("/").split("/")
    group = 2 if parts[0] == "api" else 3
    if len(parts) > group + 2 and parts[group] == "namespaces":
        group += 2
    return f"{verb} {parts[group] if len(parts) > group else request.path}"


def cut(request: web.Request) -> web.StreamResponse:
    """No answer at all: the connection ends."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=502)


async def nobody() -> None:
    """Kills nobody."""
    await asyncio.sleep(0)
