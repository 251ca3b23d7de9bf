"""More honest reviews than places: all are answered, and no address takes another's turn."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web

from controller.certificates.authority import issue, new_authority
from controller.certificates.directory import write_files
from controller.errors import BadConfiguration
from controller.webhook.connections import Acceptor, ConnectionLimits
from controller.webhook.review import AdmissionRequest, Answer
from controller.webhook.server import ACCEPTOR, serving, webhook_app
from controller.webhook.tls import ServingTls
from tests.component.webhook.forged import connected, review
from tests.component.webhook.no_metrics import NoMetrics

HONEST = 200
SLOW = "/slow"
UNTIMED = ConnectionLimits(
    waiting_seconds=60.0, handshake_seconds=60.0, head_seconds=60.0, idle_seconds=60.0
)
"""The numbers of the product; no client of a busy machine is too late."""


class Slow:
    """A handler that answers when it is let; `most` is how many it had at once."""

    def __init__(self) -> None:
        self.let = asyncio.Event()
        self.now = 0
        self.most = 0
        self.came = asyncio.Condition()

    async def answer(self, request: AdmissionRequest) -> Answer:
        self.now += 1
        self.most = max(self.most, self.now)
        async with self.came:
            self.came.notify_all()
        await self.let.wait()
        self.now -= 1
        return Answer(allowed=True)

    async def has(self, number: int) -> None:
        """Return when this number of requests is in progress."""
        async with self.came:
            await self.came.wait_for(lambda: self.now >= number)


@contextlib.asynccontextmanager
async def listening(
    slow: Slow, tls: ssl.SSLContext | None, limits: ConnectionLimits | None = None
) -> AsyncIterator[tuple[int, web.Application]]:
    app = webhook_app({SLOW: slow.answer}, NoMetrics())
    async with serving(app, "127.0.0.1", 0, tls, limits) as port:
        yield port, app


def certified(folder: Path) -> ssl.SSLContext:
    now = datetime.now(UTC)
    pair = issue(new_authority(now), ["127.0.0.1"], now)
    write_files(folder, {"tls.crt": pair.certificate, "tls.key": pair.key})
    return ServingTls(folder).context


async def asked(session: aiohttp.ClientSession, url: str) -> int:
    async with session.post(url, json=review({"a": 1}, {"a": 2})) as answer:
        assert await answer.text()
        return answer.status


async def waiting(app: web.Application, number: int) -> None:
    """Return when this number of connections waits for a place."""
    while app[ACCEPTOR][0].waiting < number:  # noqa: ASYNC110 - an acceptor notifies nobody
        await asyncio.sleep(0.01)


async def test_two_hundred_parallel_reviews_from_one_address_are_all_answered(
    tmp_path: Path,
) -> None:
    slow, limits = Slow(), UNTIMED
    async with (
        listening(slow, certified(tmp_path), limits) as (port, app),
        connected(0) as session,
    ):
        url = f"https://127.0.0.1:{port}{SLOW}"
        reviews = [asyncio.create_task(asked(session, url)) for _ in range(HONEST)]
        async with asyncio.timeout(60):
            await slow.has(limits.per_address)
            await waiting(app, HONEST - limits.per_address)
            slow.let.set()
            assert await asyncio.gather(*reviews) == [200] * HONEST
    assert slow.most == limits.per_address


FEW = msgspec.structs.replace(UNTIMED, most=4, per_address=3)


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Opened = Callable[[int, str], Awaitable[Ends]]


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    """Open connections of an address with a review under way; all of them end with the test."""
    every: list[asyncio.StreamWriter] = []

    async def one(port: int, address: str) -> Ends:
        ends = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
        every.append(ends[1])
        body = b'{"request":{"uid":"u","operation":"UPDATE","object":{},"oldObject":{}}}'
        head = f"POST {SLOW} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        ends[1].write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return ends

    yield one
    for writer in every:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def test_a_flooding_address_does_not_take_the_turn_of_another_one(
    opened: Opened,
) -> None:
    slow = Slow()
    async with listening(slow, None, FEW) as (port, app), asyncio.timeout(60):
        flood = [await opened(port, "127.0.0.2") for _ in range(9)]
        await waiting(app, 6)
        await opened(port, "127.0.0.1")
        await slow.has(4)
        late = await opened(port, "127.0.0.1")
        await waiting(app, 7)
        flood[0][1].transport.abort()
        await waiting_at_most(app, 6)
        assert app[ACCEPTOR][0].places == {"127.0.0.1": 2, "127.0.0.2": 2}
        slow.let.set()
        answer = await late[0].readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200")
        for reader, _ in flood[1:]:
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")


async def waiting_at_most(app: web.Application, number: int) -> None:
    while app[ACCEPTOR][0].waiting > number:  # noqa: ASYNC110 - an acceptor notifies nobody
        await asyncio.sleep(0.01)


async def test_while_others_wait_an_answer_ends_its_connection_and_says_so(
    opened: Opened,
) -> None:
    slow = Slow()
    async with listening(slow, None, FEW) as (port, app), asyncio.timeout(60):
        busy = [await opened(port, "127.0.0.1") for _ in range(4)]
        await waiting(app, 1)
        slow.let.set()
        heads = [await reader.readuntil(b"\r\n\r\n") for reader, _ in busy]
        assert b"connection: close" in heads[0].lower()
        assert all(head.startswith(b"HTTP/1.1 200") for head in heads)


async def test_a_client_that_waits_too_long_is_closed_and_those_with_a_place_are_answered(
    opened: Opened,
) -> None:
    slow = Slow()
    limits = ConnectionLimits(most=2, per_address=2, waiting_seconds=0.1, look_seconds=0.01)
    async with listening(slow, None, limits) as (port, _), asyncio.timeout(60):
        busy = [await opened(port, "127.0.0.1") for _ in range(2)]
        await slow.has(2)
        reader, _ = await opened(port, "127.0.0.1")
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        slow.let.set()
        for reader, _ in busy:
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")


async def called(port: int) -> None:
    """Connect, and wait for longer than a test may take."""
    with contextlib.closing(socket.create_connection(("127.0.0.1", port))):
        await asyncio.wait_for(asyncio.Event().wait(), 15)


async def test_a_server_that_accepts_no_more_connections_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(acceptor: Acceptor) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Acceptor, "_let_in", broken)
    app = webhook_app({}, NoMetrics())
    with pytest.raises(ExceptionGroup) as caught:
        async with serving(app, "127.0.0.1", 0, None) as port:
            await called(port)
    assert caught.value.subgroup(ZeroDivisionError)


async def test_a_handshake_that_fails_in_an_unknown_way_gives_its_place_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed = asyncio.Event()

    async def broken(_: object, sock: socket.socket, **__: object) -> None:
        sock.close()
        failed.set()
        raise ZeroDivisionError

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "connect_accepted_socket", broken)
    loop.set_exception_handler(lambda *_: None)
    async with listening(Slow(), None) as (port, app):
        with contextlib.closing(socket.create_connection(("127.0.0.1", port))):
            await failed.wait()
            await asyncio.sleep(0)
        assert app[ACCEPTOR][0].places == {}


async def test_a_port_that_is_taken_is_named_with_its_flag() -> None:
    app = webhook_app({}, NoMetrics())
    async with listening(Slow(), None) as (port, _):
        with pytest.raises(BadConfiguration, match=f"--webhook-port={port}: cannot listen"):
            async with serving(app, "127.0.0.1", port, None):
                pass


READY = b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"


async def answered_with_half_a_head_behind(
    port: int,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client whose first request is answered, and whose second one has begun with it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(READY + READY[:9])
    assert b"200 OK" in await reader.readuntil(b"\r\n\r\nok")
    return reader, writer


async def test_a_second_head_that_does_not_go_on_is_an_idle_connection_and_makes_room() -> None:
    """Its clock cannot start while the first request is answered: its bytes may be those of a body."""
    limits = ConnectionLimits(most=1, idle_seconds=0.0, head_seconds=60.0)
    async with listening(Slow(), None, limits) as (port, _):
        reader, writer = await answered_with_half_a_head_behind(port)
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/readyz") as answer,
        ):
            assert answer.status == 200
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()


async def test_a_request_that_came_while_nobody_looked_is_no_idleness_of_its_client() -> None:
    """The server was busy for a while: the client has asked long ago, and nobody has read it."""
    limits = ConnectionLimits(most=1, idle_seconds=0.0)
    async with listening(Slow(), None, limits) as (port, app):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        acceptor = app[ACCEPTOR][0]
        while not acceptor._by_transport:  # noqa: ASYNC110 - an acceptor notifies nobody
            await asyncio.sleep(0)
        assert any(one.idle_by(float("inf")) for one in acceptor._inside)
        writer.write(READY)
        assert not any(one.idle_by(float("inf")) for one in acceptor._inside)
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\nok")
        writer.close()


async def test_the_next_byte_of_a_second_head_starts_its_clock() -> None:
    limits = ConnectionLimits(head_seconds=0.1)
    async with listening(Slow(), None, limits) as (port, _):
        reader, writer = await answered_with_half_a_head_behind(port)
        writer.write(READY[9:10])
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 15) == b""
        writer.close()
