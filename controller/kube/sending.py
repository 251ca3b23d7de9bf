"""The transport below kr8s' `Api`: requests over our own connections, fit for a process that runs for months.

Why kr8s' own is not used: it tears its pool down after each 401 and 403, with every open watch; it waits without a
bound, follows redirects, and sends a token that has changed until the server refuses it. It imports no kr8s.

Invariants: the connection pool is made once and never torn down, whatever the server answers; a request is never
cancelled halfway: a cancelled caller stops waiting, while the request continues and is awaited at close, for
`Limits.close` seconds at most; every wait for the server is bounded; every failure leaves as one of
`controller.errors`; a request with a `fence` passes it after every wait for a turn, and again when its body is sent.
Streams have connections of their own, so that watches and requests cannot starve each other. Only writes pass the token
bucket.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlencode

import aiohttp
import msgspec
from yarl import URL

from controller.errors import Unreachable
from controller.kube.access import Access
from controller.kube.errors import Status, error_from_response, seconds_asked_for
from controller.kube.refusals import name_what_was_asked
from controller.kube.transport import (
    Answer,
    ConnectFailed,
    Connections,
    Exchange,
    TimedOut,
    TransportFailure,
    waits,
)
from controller.runtime.rate import TokenBucket
from controller.telemetry import tracing

LONGEST_RETRY_AFTER = 5.0  # seconds; a longer wait is the caller's decision
RECONNECT_PAUSE = 0.1
KEPT_IDLE = 60.0  # seconds
UNBOUNDED = 0
REFUSED = 401

JSON_PATCH = "application/json-patch+json"

# a peer that vanished is noticed within about half a minute, also while nothing is sent
_KEEP_ALIVE: list[tuple[int, int, int]] = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, option), value)
        for option, value in (
            ("TCP_NODELAY", 1),
            ("TCP_KEEPIDLE", 15),
            ("TCP_KEEPINTVL", 5),
            ("TCP_KEEPCNT", 3),
            ("TCP_USER_TIMEOUT", 30_000),
        )
        if hasattr(socket, option)
    ),
]


class RequestMetrics(Protocol):
    """Metrics of the transport."""

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        """A request was answered; code `<error>` when it was not."""
        ...


class Limits(msgspec.Struct, frozen=True):
    """Seconds and counts; the defaults fit a controller."""

    connect: float = 5.0
    answer: float = 15.0
    pool: float = 10.0
    in_flight: int = 32
    connections: int = 64
    close: float = 5.0


class Sending:
    """One pool for requests and one for streams; `open()` before use, `await aclose()` after."""

    def __init__(
        self,
        *,
        user_agent: str,
        bucket: TokenBucket | None = None,
        limits: Limits | None = None,
        metrics: RequestMetrics | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._bucket = bucket
        self._limits = limits or Limits()
        self._waits = waits(
            answer=self._limits.answer, connect=self._limits.connect, pool=self._limits.pool
        )
        self._metrics = metrics
        self._sleep = sleep
        self._gate = asyncio.Semaphore(self._limits.in_flight)
        self._requests: Connections | None = None
        self._streams: Connections
        self._access: Access
        # gzip costs both ends more than a cluster's network does
        self._headers = {
            "User-Agent": user_agent,
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        self._host = ""
        self._sending: set[asyncio.Task[Answer]] = set()
        self.closed = False

    @property
    def is_open(self) -> bool:
        """Whether the pools are made; a live pool is never torn down."""
        return self._requests is not None

    def open(self, access: Access) -> None:
        """Make the pools; no request is made."""
        self._access = access
        self._host = URL(access.server).authority
        self._streams = self._connections(UNBOUNDED)
        self._requests = self._connections(self._limits.connections)

    async def aclose(self) -> None:
        """Wait for requests in flight, a few seconds at most, then close all connections."""
        self.closed = True
        if self._sending:
            await asyncio.wait(tuple(self._sending), timeout=self._limits.close)
        for task in tuple(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        if self._requests is not None:
            await self._requests.aclose()
            await self._streams.aclose()

    def _connections(self, most: int) -> Connections:
        return Connections(
            verify=self._access.verify,
            verify_anew=self._access.verify_anew,
            most=most,
            keep_alive=KEPT_IDLE,
            proxy=self._access.proxy or None,
            socket_options=_KEEP_ALIVE,
        )

    @contextlib.asynccontextmanager
    async def call(
        self,
        method: str,
        version: str,
        base: str,
        namespace: str | None,
        url: str,
        raise_for_status: bool,
        stream: bool,
        **kwargs: Any,
    ) -> AsyncGenerator[Answer, None]:
        """One request; the body of the `with` is outside of all error handling."""
        if self.closed:
            raise Unreachable("this client is closed")
        kwargs |= {"method": method, "url": path_of(version, base, namespace, url)}
        async with contextlib.AsyncExitStack() as stack:
            if stream:
                response = await self._open_stream(stack, kwargs)
            else:
                response = await self._exchange(kwargs)
            if raise_for_status and response.status_code >= 300:
                retry_after = response.headers.get("Retry-After", "")
                refused = error_from_response(
                    response.status_code, await _body(response), retry_after
                )
                if version and not stream:
                    name_what_was_asked(refused, method, version, namespace, url)
                raise refused
            yield response

    async def _open_stream(
        self, stack: contextlib.AsyncExitStack, request: dict[str, Any]
    ) -> Answer:
        started = asyncio.get_running_loop().time()
        code = "<error>"
        try:
            token = self._access.token
            used = token.current()
            answer = await self._begin(stack, request, used)
            if answer.status_code == REFUSED and (other := await token.after_refusal(used)):
                answer = await self._begin(stack, request, other)
            code = str(answer.status_code)
        except TransportFailure as failure:
            raise _unreachable(request, failure) from failure
        finally:
            self._count("WATCH", code, started)
        return answer

    async def _begin(
        self, stack: contextlib.AsyncExitStack, request: dict[str, Any], token: str
    ) -> Answer:
        return await stack.enter_async_context(self._streams.stream(self._prepared(request, token)))

    async def _exchange(self, request: dict[str, Any]) -> Answer:
        """Send the request; send it a second time if that is safe and may succeed."""
        try:
            response = await self._send(request)
        except TransportFailure as failure:
            # a request that may have reached the server is repeated only if that does no harm
            may_repeat = isinstance(failure, ConnectFailed) or _repeatable(request)
            if isinstance(failure, TimedOut) or not may_repeat:
                raise _unreachable(request, failure) from failure
            pause = RECONNECT_PAUSE
        else:
            pause = _pause_before_retry(request, response)
            if not pause:
                return response
        await self._sleep(pause)
        try:
            return await self._send(request)
        except TransportFailure as failure:
            raise _unreachable(request, failure) from failure

    async def _send(self, request: dict[str, Any]) -> Answer:
        """Wait for a turn, then send in a task of its own: our cancellation must not reach the connection."""
        if self._bucket is not None and request["method"] != "GET":
            await self._bucket.take()
        await self._gate.acquire()
        if self.closed:
            self._gate.release()
            raise Unreachable("this client is closed")
        task = asyncio.create_task(self._transmit(request))
        self._sending.add(task)
        task.add_done_callback(self._sent)
        return await asyncio.shield(task)

    def _sent(self, task: asyncio.Task[Answer]) -> None:
        self._sending.discard(task)
        self._gate.release()
        if not task.cancelled():
            task.exception()  # perhaps no caller waits any more

    async def _transmit(self, request: dict[str, Any]) -> Answer:
        if not tracing.is_on():
            return await self._sent_once(request)
        method = request["method"]
        asked = {"http.request.method": method, "url.path": request["url"]}
        with tracing.part(f"kubernetes {method}", **asked):
            return await self._sent_once(request)

    async def _sent_once(self, request: dict[str, Any]) -> Answer:
        started = asyncio.get_running_loop().time()
        code = "<error>"
        fence: Callable[[], None] = request.get("fence") or _let_through
        try:
            token = self._access.token
            used = token.current()
            assert self._requests is not None
            fence()
            response = await self._requests.exchange(self._prepared(request, used))
            if response.status_code == REFUSED and (other := await token.after_refusal(used)):
                fence()
                response = await self._requests.exchange(self._prepared(request, other))
            code = str(response.status_code)
        finally:
            self._count(request["method"], code, started)
            tracing.note("http.response.status_code", code)
        return response

    def _prepared(self, request: Mapping[str, Any], token: str) -> Exchange:
        """A request; callers quote its path."""
        address = self._access.server.rstrip("/") + request["url"]
        query = urlencode(request.get("params") or {})
        proof = {"Authorization": f"Bearer {token}"} if token else {}
        body = request.get("content") or request.get("data")
        kind = {"Content-Type": "application/json"} if body else {}
        headers = {**self._headers, **kind, **proof, **(request.get("headers") or {})}
        return Exchange(
            method=request["method"],
            url=f"{address}?{query}" if query else address,
            headers=[*headers.items(), *more] if (more := self._access.headers) else headers,
            content=body.encode() if isinstance(body, str) else body,
            timeout=self._bounds_of(request),
            server_name=self._access.server_name or None,
            fence=request.get("fence"),
        )

    def _bounds_of(self, request: Mapping[str, Any]) -> aiohttp.ClientTimeout:
        """The bounds that the caller gave: ours; seconds, or none for the answer, as kr8s' own calls give them."""
        if "timeout" not in request:
            return self._waits
        asked = request["timeout"]
        if isinstance(asked, aiohttp.ClientTimeout):
            return asked
        # a watch may be silent for an hour; of a peer that vanished the kernel tells us
        return waits(answer=asked, connect=self._limits.connect, pool=self._limits.pool)

    def _count(self, method: str, code: str, started: float) -> None:
        if self._metrics:
            seconds = asyncio.get_running_loop().time() - started
            self._metrics.requested(method, self._host, code, seconds)


def _let_through() -> None:
    """A request that may be sent at once."""


def path_of(version: str, base: str, namespace: str | None, url: str) -> str:
    """The path of a resource: below `base` if it is given, else below the path of its API version."""
    start = base or ("/apis" if "/" in version else "/api")
    place = ("namespaces", namespace) if namespace else ()
    return "/".join([start, *filter(None, (version, *place)), url])


async def _body(answer: Answer) -> bytes:
    try:
        return await answer.aread()
    except TransportFailure:
        return b""


def _repeatable(request: Mapping[str, Any]) -> bool:
    """Whether the second of two equal requests changes nothing, or is refused by its resource version."""
    method, content_type = request["method"], (request.get("headers") or {}).get("Content-Type")
    return bool(method != "POST" and content_type != JSON_PATCH)


def _pause_before_retry(request: dict[str, Any], response: Answer) -> float:
    """Seconds to wait before asking again as the server wished; 0: take the answer as it is."""
    # 429 says that nothing was done; after a 503 only repeatable requests are safe
    refused = response.status_code == 429
    if not refused and not (response.status_code == 503 and _repeatable(request)):
        return 0.0
    asked = seconds_asked_for(Status(), response.headers.get("Retry-After", ""))
    return asked if asked <= LONGEST_RETRY_AFTER else 0.0


def _unreachable(request: dict[str, Any], failure: TransportFailure) -> Unreachable:
    detail = str(failure) or type(failure).__name__
    return Unreachable(f"{request['method']} {request['url']}: {detail}")
