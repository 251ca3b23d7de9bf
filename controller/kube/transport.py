"""Requests over aiohttp's connections, and answers with the part of httpx' interface that kr8s reads.

Why it exists: httpx' own connections are Python all the way down, and its pool asks every idle one of them before and
after each request; a request cost 1.1 to 2.3 ms of CPU, and 0.3 to 0.4 ms with aiohttp.
Invariants: one request is one attempt; every wait is bounded by the request's own timeouts; every failure is a
`TransportFailure`. It must not read the environment, follow redirects or keep cookies.
"""

import contextlib
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

import aiohttp
import msgspec
from aiohttp.abc import AbstractStreamWriter
from aiohttp.connector import AddrInfoType
from aiohttp.payload import BytesPayload, Payload
from yarl import URL

from controller.errors import BadConfiguration, UnreadableAnswer

SocketOption = tuple[int, int, int]

TLS_BUFFER = 16 * 1024
"""Bytes. asyncio keeps 256 KiB for each encrypted connection; a TLS record has 16 KiB at most."""
NOT_BY_ITSELF = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""Headers that aiohttp would add if the request has none."""


def save_memory_of_tls() -> None:
    """Make asyncio's buffer of each encrypted connection smaller: some 9 MB less for the controller's watches.

    For a process that is this program alone, at its start; asyncio has no setting for it.
    """
    SSLProtocol.max_size = TLS_BUFFER


class TransportFailure(Exception):
    """No answer, or only a part of one."""


class ConnectFailed(TransportFailure):
    """Nothing was sent: there is no connection to the server."""


class TimedOut(TransportFailure):
    """A wait reached its bound; the request may have reached the server."""


class ConnectionBroken(TransportFailure):
    """The connection ended; the request may have reached the server."""


class Exchange(msgspec.Struct, frozen=True):
    """One request: a whole address, all of its headers, and the name the server's certificate has to carry."""

    method: str
    url: str
    headers: Mapping[str, str] | Sequence[tuple[str, str]]
    content: bytes | None
    timeout: aiohttp.ClientTimeout
    server_name: str | None = None
    fence: Callable[[], None] | None = None
    """Called when the body is handed to the kernel; if it raises, the server never gets the whole request."""

    def body(self) -> bytes | Payload | None:
        """The body that aiohttp sends."""
        if self.content and self.fence:
            return _FencedBytes(self.content, self.fence)
        return self.content or None


class _FencedBytes(BytesPayload):
    """Bytes behind a fence.

    Why here: aiohttp sends a request's body in a task of its own, some turns of the event loop after it was asked to.
    """

    def __init__(self, value: bytes, fence: Callable[[], None]) -> None:
        super().__init__(value)
        self._fence = fence

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write the whole body."""
        self._fence()
        await super().write(writer)

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        """Write as many bytes as the header announced."""
        self._fence()
        await super().write_with_length(writer, content_length)


class Answer:
    """An answer with its headers; its body is complete, or is read as it arrives."""

    def __init__(self, answer: aiohttp.ClientResponse, content: bytes | None = None) -> None:
        self._answer = answer
        self._content = content
        self.status_code = answer.status
        self.headers = answer.headers

    @property
    def content(self) -> bytes:
        """The whole body, which must have been read."""
        assert self._content is not None, "the body was not read"
        return self._content

    @property
    def text(self) -> str:
        """The whole body as text."""
        return self.content.decode(errors="replace")

    def json(self) -> dict[str, Any]:
        """The whole body, decoded: an object. An aggregated API server may answer anything."""
        try:
            return msgspec.json.decode(self.content, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as failure:
            raise UnreadableAnswer(f"an answer could not be read: {failure}") from failure

    async def aread(self) -> bytes:
        """The whole body, read now if it was not."""
        if self._content is None:
            with _as_transport_failures():
                self._content = await self._answer.read()
        return self._content

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The chunks of the body as they come."""
        if self._content is not None:
            yield self._content
            return
        with _as_transport_failures():
            async for chunk in self._answer.content.iter_any():
                yield chunk

    async def aiter_lines(self) -> AsyncIterator[str]:
        """The lines of the body as they come, without their ends."""
        rest = b""
        async for chunk in self.aiter_bytes():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
        if rest:
            yield rest.decode(errors="replace")


class Connections:
    """One pool. Make it inside the event loop that will use it."""

    def __init__(
        self,
        *,
        verify: ssl.SSLContext | bool,
        most: int,
        keep_alive: float,
        proxy: str | None,
        socket_options: Sequence[SocketOption],
        verify_anew: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        """`verify_anew` is called when a server's certificate is not trusted; the next connection is verified so."""

        def open_socket(address: AddrInfoType) -> socket.socket:
            made = socket.socket(*address[:3])
            made.setblocking(False)
            for option in socket_options:
                made.setsockopt(*option)
            return made

        self._proxy = proxy
        self._verify = verify
        self._verify_anew = verify_anew
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=most,
                keepalive_timeout=keep_alive,
                socket_factory=open_socket,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=NOT_BY_ITSELF,
            auto_decompress=False,
        )
        # The caller knows which requests may be repeated. aiohttp has no public setting for it; tests/component/kube/
        # test_transport.py fails if this setting has no effect any more.
        self._session._retry_connection = False

    async def exchange(self, request: Exchange) -> Answer:
        """Send a request as it is, once; returns when the whole answer is there."""
        async with self.stream(request) as answer:
            await answer.aread()
            return answer

    @contextlib.asynccontextmanager
    async def stream(self, request: Exchange) -> AsyncIterator[Answer]:
        """The same, as soon as the answer's headers arrive; leaving the block closes the connection if the body was
        not read to its end."""
        with _as_transport_failures(self._distrust):
            answer = await self._session.request(
                request.method,
                URL(request.url, encoded=True),
                headers=request.headers,
                data=request.body(),
                allow_redirects=False,
                proxy=self._proxy,
                ssl=self._verify,
                server_hostname=request.server_name,
                timeout=request.timeout,
            )
        try:
            yield Answer(answer)
        finally:
            answer.close()

    def _distrust(self) -> None:
        """The server's certificate is not trusted: its authority may be in the files by now."""
        if self._verify_anew is not None:
            with contextlib.suppress(BadConfiguration):
                self._verify = self._verify_anew()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()


def waits(
    *, answer: float | None, connect: float | None, pool: float | None
) -> aiohttp.ClientTimeout:
    """Bounds in seconds: `pool` for a turn, `connect`, and `answer` for each part of the answer."""
    turn = None if pool is None or connect is None else pool + connect
    return aiohttp.ClientTimeout(total=None, connect=turn, sock_connect=connect, sock_read=answer)


@contextlib.contextmanager
def _as_transport_failures(distrust: Callable[[], None] = lambda: None) -> Iterator[None]:
    """The place of the failure decides whether a request may be repeated, so there are separate classes."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as failure:
        raise TimedOut("no connection in time") from failure
    except TimeoutError as failure:
        raise TimedOut("no answer in time") from failure
    except aiohttp.ClientConnectorError as failure:
        if isinstance(failure, aiohttp.ClientConnectorCertificateError):
            distrust()
        raise ConnectFailed(str(failure)) from failure
    except aiohttp.ClientResponseError as failure:
        raise ConnectionBroken(failure.message) from failure
    except (aiohttp.ClientError, OSError) as failure:
        raise ConnectionBroken(str(failure) or type(failure).__name__) from failure
