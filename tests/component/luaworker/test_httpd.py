"""The ports of metrics and probes, which every pod of the cluster can reach."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from luaworker import httpd
from luaworker.httpd import Page

GET = b"GET /healthz HTTP/1.1\r\n\r\n"
LARGE = b"x" * (16 << 20)
"""More than the kernel keeps for a client that does not read."""
PAGES = {"/healthz": lambda: Page(b"ok\n"), "/large": lambda: Page(LARGE)}
Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[int]:
    server = await httpd.serve("127.0.0.1:0", PAGES)
    assert server is not None
    async with server:
        yield httpd.port_of(server)


@contextlib.asynccontextmanager
async def connected(port: int, number: int) -> AsyncIterator[list[Client]]:
    clients = [await asyncio.open_connection("127.0.0.1", port) for _ in range(number)]
    try:
        yield clients
    finally:
        for _, writer in clients:
            writer.close()


async def asked(port: int) -> bytes:
    async with connected(port, 1) as [(reader, writer)]:
        writer.write(GET)
        return await reader.read()


async def is_over(client: Client) -> bool:
    with contextlib.suppress(ConnectionError):
        return await client[0].read() == b""
    return True


async def test_connections_that_say_nothing_are_few_and_keep_nobody_out() -> None:
    async with listening() as port, connected(port, 200) as clients:
        assert (await asked(port)).endswith(b"ok\n")
        first = clients[: 200 - httpd._CONNECTIONS]
        assert all(await asyncio.gather(*map(is_over, first)))


async def test_a_client_that_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(httpd, "_SECONDS", 0.05)
    async with listening() as port, connected(port, 1) as [client]:
        assert await is_over(client)


async def test_a_client_that_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(httpd, "_SECONDS", 0.05)
    others = asyncio.all_tasks()
    async with listening() as port, connected(port, 1) as [(reader, writer)]:
        writer.transport.pause_reading()  # type: ignore[attr-defined] # a socket's transport has it
        writer.write(GET.replace(b"healthz", b"large"))
        while asyncio.all_tasks() - others:  # noqa: ASYNC110 - the server notifies nobody
            await asyncio.sleep(0.01)
        writer.transport.resume_reading()  # type: ignore[attr-defined] # a socket's transport has it
        assert len(await reader.read()) < len(LARGE)


async def test_an_unknown_path_is_not_found() -> None:
    async with listening() as port, connected(port, 1) as [(reader, writer)]:
        writer.write(b"GET /nothing HTTP/1.1\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 404 Not Found")
