"""kr8s' transport, made fit for a process that runs for months.

Invariants: the connection pool is made once and never torn down, whatever the server answers; a request is
never cancelled half-way (httpcore would lose a pool slot): whoever is cancelled stops waiting, the request goes
on and is awaited at close; every wait is bounded; every failure leaves as one of `controller.errors`. Streams
have connections of their own, so that watches and requests cannot starve each other. Only writes pass the token
bucket.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Protocol, cast
from urllib.parse import urlencode

import httpx
import kr8s.asyncio
import msgspec

from controller.errors import Unreachable
from controller.kube.access import Access, access_of
from controller.kube.credentials import BearerAuth, Source
from controller.kube.errors import Status, error_from_response, seconds_asked_for
from controller.kube.transport import AiohttpTransport, Exchange, bounds
from controller.runtime.rate import TokenBucket

LONGEST_RETRY_AFTER = 5.0  # seconds; a longer wait is the caller's decision
RECONNECT_PAUSE = 0.1
KEPT_IDLE = 60.0  # seconds
UNBOUNDED = 0
NOT_READ_YET = "https://the-kubeconfig-was-not-read-yet.invalid"

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
    """What the transport tells about itself."""

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


class ControllerApi(kr8s.asyncio.Api):
    """kr8s' Api for long-running processes; `await open()` before use, `await aclose()` after."""

    def __init__(
        self,
        source: Source,
        *,
        user_agent: str,
        bucket: TokenBucket | None = None,
        limits: Limits | None = None,
        metrics: RequestMetrics | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(bypass_factory=True, url=source.url or NOT_READ_YET, serviceaccount="")
        # else kr8s would read a ~/.kube/config that happens to exist; it tests for this very value
        cast(Any, self.auth)._kubeconfig_path_or_dict = False
        self._source = source
        self._bucket = bucket
        self._limits = limits or Limits()
        self._waits = _waits_of(self._limits)
        self._bounds = bounds(self._waits.as_dict())
        self._metrics = metrics
        self._sleep = sleep
        self._gate = asyncio.Semaphore(self._limits.in_flight)
        self._opening = asyncio.Lock()
        self._streams: httpx.AsyncClient | None = None
        self._requests: AiohttpTransport
        self._access: Access
        # gzip costs both ends more than a cluster's network does
        self._headers = {
            "User-Agent": user_agent,
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        self._host = ""
        self._sending: set[asyncio.Task[httpx.Response]] = set()
        self._closed = False

    async def open(self) -> None:
        """Read the credentials and make the pools; no request is made."""
        async with self._opening:
            if self._session is not None:
                return  # a live pool is never torn down
            self._access = await access_of(self._source)
            self.auth._url = self.auth.server = self._access.server
            self._host = httpx.URL(self._access.server).netloc.decode()
            self._requests = self._connections(self._limits.connections)
            self._streams = self._client(self._connections(UNBOUNDED))
            self._session = self._client(self._requests)

    async def _create_session(self) -> None:
        await self.open()

    async def aclose(self) -> None:
        """Wait for requests in flight, a few seconds at most, then close all connections."""
        self._closed = True
        if self._sending:
            await asyncio.wait(tuple(self._sending), timeout=self._limits.close)
        for task in tuple(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        for session in (self._session, self._streams):
            if session is not None:
                await session.aclose()

    def _connections(self, most: int) -> AiohttpTransport:
        return AiohttpTransport(
            verify=self._access.verify,
            most=most,
            keep_alive=KEPT_IDLE,
            proxy=self._access.proxy or None,
            socket_options=_KEEP_ALIVE,
        )

    def _client(self, connections: AiohttpTransport) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=self._access.server,
            transport=connections,
            trust_env=False,
            follow_redirects=False,
            headers=[*self._headers.items(), *self._access.headers],
            timeout=self._waits,
            auth=BearerAuth(self._access.token),
        )

    @contextlib.asynccontextmanager
    async def call_api(
        self,
        method: str = "GET",
        version: str = "v1",
        base: str = "",
        namespace: str | None = None,
        url: str = "",
        raise_for_status: bool = True,
        stream: bool = False,
        **kwargs: Any,
    ) -> AsyncGenerator[httpx.Response, None]:
        """One request; the body of the `with` is outside of all error handling."""
        if self._closed:
            raise Unreachable("this client is closed")
        if self._session is None:
            await self.open()
        kwargs |= {"method": method, "url": self._construct_url(version, base, namespace, url)}
        if self._access.server_name:
            kwargs["extensions"] = {"sni_hostname": self._access.server_name}
        async with contextlib.AsyncExitStack() as stack:
            if stream:
                response = await self._open_stream(stack, kwargs)
            else:
                response = await self._exchange(kwargs)
            if raise_for_status and response.status_code >= 300:
                retry_after = response.headers.get("Retry-After", "")
                raise error_from_response(response.status_code, await _body(response), retry_after)
            yield response

    async def _open_stream(
        self, stack: contextlib.AsyncExitStack, request: dict[str, Any]
    ) -> httpx.Response:
        assert self._streams is not None
        started = asyncio.get_running_loop().time()
        code = "<error>"
        try:
            response = await stack.enter_async_context(self._streams.stream(**request))
            code = str(response.status_code)
        except httpx.RequestError as failure:
            raise _unreachable(request, failure) from failure
        finally:
            self._count("WATCH", code, started)
        return response

    async def _exchange(self, request: dict[str, Any]) -> httpx.Response:
        """Send, and once more where that is safe and promising."""
        try:
            response = await self._send(request)
        except httpx.RequestError as failure:
            # a request that may have reached the server is repeated only if that does no harm
            may_repeat = isinstance(failure, httpx.ConnectError) or _repeatable(request)
            if isinstance(failure, httpx.TimeoutException) or not may_repeat:
                raise _unreachable(request, failure) from failure
            pause = RECONNECT_PAUSE
        else:
            pause = _pause_before_retry(request, response)
            if not pause:
                return response
        await self._sleep(pause)
        try:
            return await self._send(request)
        except httpx.RequestError as failure:
            raise _unreachable(request, failure) from failure

    async def _send(self, request: dict[str, Any]) -> httpx.Response:
        """Wait for a turn, then send in a task of its own: our cancellation must not reach httpcore."""
        if self._bucket is not None and request["method"] != "GET":
            await self._bucket.take()
        await self._gate.acquire()
        task = asyncio.create_task(self._transmit(request))
        self._sending.add(task)
        task.add_done_callback(self._sent)
        return await asyncio.shield(task)

    def _sent(self, task: asyncio.Task[httpx.Response]) -> None:
        self._sending.discard(task)
        self._gate.release()
        if not task.cancelled():
            task.exception()  # nobody may be waiting any more

    async def _transmit(self, request: dict[str, Any]) -> httpx.Response:
        started = asyncio.get_running_loop().time()
        code = "<error>"
        try:
            token = self._access.token
            used = token.current()
            response = await self._requests.exchange(self._prepared(request, used))
            if response.status_code == 401 and (other := await token.after_refusal(used)):
                response = await self._requests.exchange(self._prepared(request, other))
            code = str(response.status_code)
        finally:
            self._count(request["method"], code, started)
        return response

    def _prepared(self, request: Mapping[str, Any], token: str) -> Exchange:
        """What goes out; paths come quoted from whoever asks."""
        address = self._access.server.rstrip("/") + request["url"]
        query = urlencode(request.get("params") or {})
        proof = {"Authorization": f"Bearer {token}"} if token else {}
        headers = {**self._headers, **proof, **request.get("headers", {})}
        return Exchange(
            method=request["method"],
            url=f"{address}?{query}" if query else address,
            headers=[*headers.items(), *more] if (more := self._access.headers) else headers,
            content=request.get("content"),
            timeout=self._bounds,
            server_name=self._access.server_name or None,
        )

    def _count(self, method: str, code: str, started: float) -> None:
        if self._metrics:
            seconds = asyncio.get_running_loop().time() - started
            self._metrics.requested(method, self._host, code, seconds)


def _waits_of(limits: Limits) -> httpx.Timeout:
    return httpx.Timeout(limits.answer, connect=limits.connect, pool=limits.pool)


async def _body(response: httpx.Response) -> bytes:
    try:
        return await response.aread()
    except httpx.RequestError:
        return b""


def _repeatable(request: Mapping[str, Any]) -> bool:
    """Whether the second of two equal requests changes nothing, or is refused by its resource version."""
    method, content_type = request["method"], request.get("headers", {}).get("Content-Type")
    return bool(method != "POST" and content_type != JSON_PATCH)


def _pause_before_retry(request: dict[str, Any], response: httpx.Response) -> float:
    """Seconds to wait before asking again as the server wished; 0: take the answer as it is."""
    # 429 says that nothing was done; after a 503 only repeatable requests are safe
    refused = response.status_code == 429
    if not refused and not (response.status_code == 503 and _repeatable(request)):
        return 0.0
    asked = seconds_asked_for(Status(), response.headers.get("Retry-After", ""))
    return asked if asked <= LONGEST_RETRY_AFTER else 0.0


def _unreachable(request: dict[str, Any], failure: httpx.RequestError) -> Unreachable:
    detail = str(failure) or type(failure).__name__
    return Unreachable(f"{request['method']} {request['url']}: {detail}")
