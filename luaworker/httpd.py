"""Answers GET and HEAD on a few fixed paths: metrics and probes.

Why not a framework: three paths do not justify its memory in a process that is scaled out. Invariant: reads at most
one short request head per connection, answers, closes; a client that sends or reads slowly is cut off. Every pod of the
cluster can connect, so the number of connections is bounded, and the oldest makes room: a kubelet that asks at once is
answered while others hold theirs. (They held the file descriptors that the worker needs for its children.)
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_HEAD_BYTES = 8192
_SECONDS = 5.0
_CONNECTIONS = 64
_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


@dataclass(frozen=True, slots=True)
class Page:
    """One answer."""

    body: bytes
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"


Pages = Mapping[str, Callable[[], Page]]


def parse_address(address: str) -> tuple[str, int] | None:
    """`:8080` or `host:8080`; `0` or nothing switches the server off."""
    if address in ("", "0"):
        return None
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        raise ValueError(f"{address!r} is not an address like :8080 or 127.0.0.1:8080")
    return host.strip("[]"), int(port)


def _respond(head: bytes, pages: Pages) -> bytes:
    method, _, rest = head.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0].decode("latin-1")
    if path not in pages:
        page = Page(b"not found\n", 404)
    elif method not in (b"GET", b"HEAD"):
        page = Page(b"only GET\n", 405)
    else:
        page = pages[path]()
    lines = (
        f"HTTP/1.1 {page.status} {_REASONS[page.status]}\r\n"
        f"Content-Type: {page.content_type}\r\n"
        f"Content-Length: {len(page.body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return lines.encode() + (b"" if method == b"HEAD" else page.body)


class _Answering:
    """Answers connections with the pages."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        # In the order in which they came.
        self._open: dict[asyncio.StreamWriter, None] = {}

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        self._open[writer] = None
        if len(self._open) > _CONNECTIONS:
            next(iter(self._open)).transport.abort()
        try:
            async with asyncio.timeout(_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_respond(head, self._pages))
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # a client that does not finish its request gets no answer
        finally:
            del self._open[writer]
            writer.transport.abort()


async def serve(address: str, pages: Pages) -> asyncio.Server | None:
    """Listens; None if the address switches it off."""
    where = parse_address(address)
    if where is None:
        return None

    host, port = where
    return await asyncio.start_server(
        _Answering(pages).connected, host or None, port, limit=_HEAD_BYTES
    )


def port_of(server: asyncio.Server | None) -> int:
    """The port that is listened on, 0 if none is."""
    return int(server.sockets[0].getsockname()[1]) if server and server.sockets else 0
