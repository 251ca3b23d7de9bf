"""httpx over aiohttp's connections.

Why it exists: httpx' own connections are Python all the way down, and its pool asks every idle one of them before and
after each request; a request cost 1.1 to 2.3 ms of CPU, with aiohttp's parser and pool it is a quarter of that. What
httpx does before and after (parsing the address three times, cookies, redirects) was a quarter of the rest: `exchange`
goes without.
Invariants: one request is one attempt; every wait is bounded by the request's own timeouts; every failure is one of
httpx' exceptions. It must not read the environment, follow redirects or keep cookies.
"""

import contextlib
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

import aiohttp
import httpx
import msgspec
from aiohttp.connector import AddrInfoType
from yarl import URL

SocketOption = tuple[int, int, int]

# asyncio keeps 256 KiB for each encrypted connection, and a record has 16 KiB at most: some 9 MB less for our streams
SSLProtocol.max_size = 32 * 1024

NOT_BY_ITSELF = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""Headers that aiohttp would add where the request has none."""


class Exchange(msgspec.Struct, frozen=True):
    """One request: a whole address, all of its headers, and the name the server's certificate has to carry."""

    method: str
    url: str
    headers: Mapping[str, str] | Sequence[tuple[str, str]]
    content: bytes | None
    timeout: aiohttp.ClientTimeout
    server_name: str | None = None


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Make it inside the event loop that will use it."""

    def __init__(
        self,
        *,
        verify: ssl.SSLContext | bool,
        most: int,
        keep_alive: float,
        proxy: str | None,
        socket_options: Sequence[SocketOption],
    ) -> None:
        def open_socket(address: AddrInfoType) -> socket.socket:
            made = socket.socket(*address[:3])
            made.setblocking(False)
            for option in socket_options:
                made.setsockopt(*option)
            return made

        self._proxy = proxy
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=httpx.create_ssl_context(verify=verify, trust_env=False),
                limit=most,
                keepalive_timeout=keep_alive,
                socket_factory=open_socket,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=NOT_BY_ITSELF,
            auto_decompress=False,
        )
        # Whoever sends knows what may be repeated, and how often.
        self._session._retry_connection = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Called by httpx; returns when the answer's headers are there."""
        with _as_failures_of_httpx(request):
            answer = await self._session.request(
                request.method,
                URL(str(request.url), encoded=True),
                headers=request.headers.multi_items(),
                data=request.content or None,
                allow_redirects=False,
                proxy=self._proxy,
                server_hostname=request.extensions.get("sni_hostname"),
                timeout=bounds(request.extensions.get("timeout", {})),
            )
        return httpx.Response(
            answer.status, headers=answer.raw_headers, stream=_Body(request, answer)
        )

    async def exchange(self, request: Exchange) -> httpx.Response:
        """Send a request as it is, once; returns when the whole answer is there."""
        with _as_failures_of_httpx():
            async with self._session.request(
                request.method,
                URL(request.url, encoded=True),
                headers=request.headers,
                data=request.content or None,
                allow_redirects=False,
                proxy=self._proxy,
                server_hostname=request.server_name,
                timeout=request.timeout,
            ) as answer:
                content = await answer.read()
        return httpx.Response(answer.status, headers=answer.raw_headers, content=content)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()


class _Body(httpx.AsyncByteStream):
    """The bytes of an answer, as they come."""

    def __init__(self, request: httpx.Request, answer: aiohttp.ClientResponse) -> None:
        self._request = request
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_failures_of_httpx(self._request):
            async for chunk in self._answer.content.iter_any():
                yield chunk

    async def aclose(self) -> None:
        """Give the connection back where all was read, close it otherwise."""
        self._answer.close()


def bounds(asked: Mapping[str, float | None]) -> aiohttp.ClientTimeout:
    """aiohttp's waits for those of httpx, in seconds: `pool` for a turn, `connect`, and `read` for each part."""
    pool, connect, read = (asked.get(wait) for wait in ("pool", "connect", "read"))
    turn = None if pool is None or connect is None else pool + connect
    return aiohttp.ClientTimeout(total=None, connect=turn, sock_connect=connect, sock_read=read)


@contextlib.contextmanager
def _as_failures_of_httpx(request: httpx.Request | None = None) -> Iterator[None]:
    """Where a request failed decides whether it may be repeated, so the classes are told apart."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as failure:
        raise httpx.ConnectTimeout("", request=request) from failure
    except TimeoutError as failure:
        raise httpx.ReadTimeout("", request=request) from failure
    except aiohttp.ClientConnectorError as failure:
        raise httpx.ConnectError(str(failure), request=request) from failure
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError) as failure:
        raise httpx.RemoteProtocolError(str(failure), request=request) from failure
    except aiohttp.ClientResponseError as failure:
        raise httpx.RemoteProtocolError(failure.message, request=request) from failure
    except (aiohttp.ClientError, OSError) as failure:
        raise httpx.ReadError(str(failure), request=request) from failure
