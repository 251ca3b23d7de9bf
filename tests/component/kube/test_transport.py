"""Requests over aiohttp's connections: the exception for each failure, and that no request is repeated."""

import asyncio
import contextlib
import inspect
import socket
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import aiohttp
import pytest

from controller.kube.transport import (
    Answer,
    ConnectFailed,
    ConnectionBroken,
    Connections,
    Exchange,
    TimedOut,
    save_memory_of_tls,
    waits,
)
from tests.component.kube.faulty_server import FaultyServer, Reply, Request

NODELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@dataclass(frozen=True)
class Asking:
    """Both ways to ask the server."""

    address: str
    connections: Connections
    bounds: aiohttp.ClientTimeout

    def request(self, method: str, url: str) -> Exchange:
        address = url if url.startswith("http") else self.address + url
        return Exchange(method, address, {}, None, self.bounds)

    async def streamed(self, method: str, url: str) -> Answer:
        """As a stream that is read to its end."""
        async with self.connections.stream(self.request(method, url)) as answer:
            await answer.aread()
            return answer

    async def whole(self, method: str, url: str) -> Answer:
        """In one."""
        return await self.connections.exchange(self.request(method, url))


@contextlib.asynccontextmanager
async def asking(server: FaultyServer, read: float = 5.0) -> AsyncIterator[Asking]:
    connections = Connections(
        verify=False, most=4, keep_alive=60.0, proxy=None, socket_options=[NODELAY]
    )
    async with server.running():
        try:
            yield Asking(server.url, connections, waits(answer=read, connect=5.0, pool=5.0))
        finally:
            await connections.aclose()


Way = Callable[[Asking, str, str], Awaitable[Answer]]
both_ways = pytest.mark.parametrize("ask", [Asking.streamed, Asking.whole])


async def hanging_up(request: Request, reply: Reply) -> None:
    reply.over = True
    reply.writer.close()


async def ending_early(request: Request, reply: Reply) -> None:
    await reply.begin_stream()
    await reply.send(b"half")
    await hanging_up(request, reply)


async def talking_nonsense(request: Request, reply: Reply) -> None:
    reply.writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")
    await reply.writer.drain()
    await hanging_up(request, reply)


async def greeting(request: Request, reply: Reply) -> None:
    await reply.answer(200, b"hello", Content_Type="text/plain")


async def silent(request: Request, reply: Reply) -> None:
    await reply.until_closed()


@both_ways
async def test_an_answer_is_whole_and_its_connection_is_used_again(ask: Way) -> None:
    server = FaultyServer(others=[greeting])
    async with asking(server) as asked:
        for _ in range(3):
            answer = await ask(asked, "GET", "/a%2Fb?c=d%20e")
            assert (answer.status_code, answer.content) == (200, b"hello")
            assert answer.headers["content-type"] == "text/plain"
    assert [request.query for request in server.requests] == [{"c": "d e"}] * 3
    assert server.connections == 1


@both_ways
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
async def test_a_kept_connection_that_breaks_fails_one_attempt(method: str, ask: Way) -> None:
    server = FaultyServer(others=[greeting, hanging_up])
    async with asking(server) as asked:
        await ask(asked, "GET", "/")
        with pytest.raises(ConnectionBroken):
            await ask(asked, method, "/")
    assert len(server.requests) == 2


async def test_an_early_end_of_a_stream_is_reported_after_the_received_lines() -> None:
    server = FaultyServer(others=[ending_early])
    async with (
        asking(server) as asked,
        asked.connections.stream(asked.request("GET", "/")) as answer,
    ):
        chunks = answer.aiter_bytes()
        assert await anext(chunks) == b"half"
        with pytest.raises(ConnectionBroken):
            await anext(chunks)


@both_ways
async def test_half_an_answer_is_none(ask: Way) -> None:
    server = FaultyServer(others=[ending_early])
    async with asking(server) as asked:
        with pytest.raises(ConnectionBroken):
            await ask(asked, "GET", "/")


@both_ways
async def test_a_peer_that_does_not_speak_http_is_reported(ask: Way) -> None:
    server = FaultyServer(others=[talking_nonsense])
    async with asking(server) as asked:
        with pytest.raises(ConnectionBroken):
            await ask(asked, "GET", "/")


@both_ways
async def test_a_silent_server_is_a_timeout_of_reading(ask: Way) -> None:
    server = FaultyServer(others=[silent])
    async with asking(server, read=0.05) as asked:
        with pytest.raises(TimedOut):
            await ask(asked, "GET", "/")


@both_ways
async def test_nobody_at_the_address_is_a_failure_to_connect(ask: Way) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        port = unheard.getsockname()[1]
        async with asking(FaultyServer()) as asked:
            with pytest.raises(ConnectFailed):
                await ask(asked, "GET", f"http://127.0.0.1:{port}/")


async def test_leaving_a_stream_hangs_up() -> None:
    left = asyncio.Event()

    async def endless(request: Request, reply: Reply) -> None:
        await reply.begin_stream()
        await reply.send(b"first")
        await reply.until_closed()
        left.set()

    server = FaultyServer(others=[endless])
    async with asking(server) as asked:
        async with asked.connections.stream(asked.request("GET", "/")) as answer:
            assert await anext(answer.aiter_bytes()) == b"first"
        async with asyncio.timeout(60):
            await left.wait()


async def test_lines_are_separated_wherever_the_chunks_end() -> None:
    async def lines(request: Request, reply: Reply) -> None:
        await reply.begin_stream()
        await reply.send(b'{"a":')
        await reply.send(b"1}\n{}\nrest")
        await reply.end_stream()

    async with (
        asking(FaultyServer(others=[lines])) as asked,
        asked.connections.stream(asked.request("GET", "/")) as answer,
    ):
        assert [line async for line in answer.aiter_lines()] == ['{"a":1}', "{}", "rest"]


def test_asyncio_takes_the_size_of_its_buffer_from_our_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SSLProtocol, "max_size", SSLProtocol.max_size)
    save_memory_of_tls()
    assert SSLProtocol.max_size == 16 * 1024
    assert "bytearray(self.max_size)" in inspect.getsource(SSLProtocol.__init__)
