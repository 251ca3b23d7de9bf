"""An HTTP server that follows a test's script exactly, byte by byte and fault by fault.

It knows nothing of Kubernetes but the shape of lists, watch events and statuses; the behaviour of a real API server is
tried on one.
"""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from controller.kube.api import ControllerApi
from controller.kube.client import KubeClient
from controller.kube.credentials import Source
from controller.kube.sending import Limits, RequestMetrics
from controller.runtime.rate import TokenBucket


@dataclass
class Request:
    """A request that the server received."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def watching(self) -> bool:
        return self.query.get("watch") == "true"

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Reply:
    """The means by which a script answers on the connection, or breaks it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    over: bool = False  # the connection cannot be used for another request

    async def answer(self, code: int, body: object = b"", **headers: str) -> None:
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = [f"HTTP/1.1 {code} -", f"Content-Length: {len(payload)}"]
        head += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + payload)
        await self.writer.drain()

    async def begin_stream(self) -> None:
        self.writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await self.writer.drain()

    async def send(self, data: bytes) -> None:
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self.writer.drain()

    async def end_stream(self) -> None:
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def until_closed(self) -> None:
        """Say nothing more until the client hangs up."""
        self.over = True
        with contextlib.suppress(ConnectionError):
            await self.reader.read()

    def reset(self) -> None:
        """Drop the connection with a RST."""
        self.over = True
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Responder = Callable[[Request, Reply], Awaitable[None]]


async def _accept_no_more(server: asyncio.Server) -> None:
    """Take no further connection, and know all that were taken.

    A server of Python 3.11 that closes between a connection's acceptance and its first turn leaves its socket open.
    """
    for listening in server.sockets:
        asyncio.get_running_loop().remove_reader(listening.fileno())
    being_accepted = [
        task
        for task in asyncio.all_tasks()
        if getattr(task.get_coro(), "__name__", "") == "_accept_connection2"
    ]
    await asyncio.gather(*being_accepted, return_exceptions=True)


@dataclass
class FaultyServer:
    """Answers by script: the next responder of the list, the last one for ever."""

    lists: list[Responder] = field(default_factory=list)
    watches: list[Responder] = field(default_factory=list)
    others: list[Responder] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    @contextlib.asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator["FaultyServer"]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            await _accept_no_more(server)
            server.close()
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for writer in self._writers:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()
            await server.wait_closed()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def listed(self) -> list[Request]:
        return [r for r in self.requests if r.method == "GET" and not r.watching]

    @property
    def watched(self) -> list[Request]:
        return [r for r in self.requests if r.watching]

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        task = asyncio.create_task(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A client may hang up at any time, and so may the test.
        hung_up = (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError)
        with contextlib.suppress(*hung_up):
            await self._serve(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await writer.wait_closed()
        self._writers.discard(writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reply = Reply(reader, writer)
        while not reply.over:
            request = await _read_request(reader)
            self.requests.append(request)
            await self._responder(request)(request, reply)

    def _responder(self, request: Request) -> Responder:
        script = self.others
        if request.method == "GET" and (self.lists or self.watches):
            script = self.watches if request.watching else self.lists
        if not script:
            return answering(404, status(404, "NotFound", "nothing scripted"))
        return script.pop(0) if len(script) > 1 else script[0]


async def _read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers: dict[str, str] = {}
    for name, _, value in (line.partition(":") for line in lines):
        name = name.lower()
        # a header that comes several times, as HTTP reads it
        headers[name] = f"{headers[name]},{value.strip()}" if name in headers else value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    return Request(method, parts.path, dict(parse_qsl(parts.query)), headers, body)


def answering(code: int, body: object = b"", **headers: str) -> Responder:
    """One plain answer."""

    async def respond(_: Request, reply: Reply) -> None:
        await reply.answer(code, body, **headers)

    return respond


def streaming(*lines: bytes, then: Callable[[Reply], Awaitable[None]] | None = None) -> Responder:
    """A watch that sends `lines`, then ends cleanly, or does what `then` says."""

    async def respond(_: Request, reply: Reply) -> None:
        await reply.begin_stream()
        for line in lines:
            await reply.send(line)
        await (then or Reply.end_stream)(reply)

    return respond


def silent(*lines: bytes) -> Responder:
    """A watch that sends `lines` and then nothing, for ever."""
    return streaming(*lines, then=Reply.until_closed)


async def resetting(_: Request, reply: Reply) -> None:
    """Take the request and drop the connection."""
    reply.reset()


def status(code: int, reason: str = "", message: str = "") -> dict[str, object]:
    return {"kind": "Status", "code": code, "reason": reason, "message": message}


def thing(
    name: str, version: str, *, uid: str = "", size: object = 1, **annotations: str
) -> dict[str, Any]:
    """An object of the kind the tests cache."""
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": uid or f"uid-{name}",
            "resourceVersion": version,
            "annotations": annotations,
        },
        "size": size,
    }


def listing(version: str, *items: dict[str, Any], following: str = "") -> Responder:
    """One page of a list."""
    metadata = {"resourceVersion": version, "continue": following}
    return answering(200, {"metadata": metadata, "items": list(items)})


def event(kind: str, body: dict[str, Any]) -> bytes:
    """One line of a watch, encoded as Go does: no escapes beyond ASCII controls."""
    return json.dumps({"type": kind, "object": body}, ensure_ascii=False).encode() + b"\n"


def bookmark(version: str) -> bytes:
    return event("BOOKMARK", {"kind": "Thing", "metadata": {"resourceVersion": version}})


def error_event(code: int, reason: str = "Expired", message: str = "too old") -> bytes:
    return event("ERROR", status(code, reason, message))


@contextlib.asynccontextmanager
async def connected(
    server: FaultyServer,
    *,
    limits: Limits | None = None,
    bucket: TokenBucket | None = None,
    metrics: RequestMetrics | None = None,
    source: Source | None = None,
) -> AsyncIterator[KubeClient]:
    """A client of a running server."""
    api = ControllerApi(
        source or Source(url=server.url),
        user_agent="tests",
        bucket=bucket,
        limits=limits,
        metrics=metrics,
    )
    await api.open()
    try:
        yield KubeClient(api)
    finally:
        await api.aclose()


def write_kubeconfig(
    directory: Path,
    server: FaultyServer,
    user: Mapping[str, object],
    cluster: Mapping[str, object] | None = None,
) -> str:
    """A kubeconfig (JSON is YAML) whose only user is `user`."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server.url, **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
    }
    path = directory / "kubeconfig"
    path.write_text(json.dumps(config))
    return str(path)


def names(items: Iterable[Any]) -> list[str]:
    """Names of views, sorted."""
    return sorted(item.metadata.name for item in items)
