"""A client that never sends a request twice, and counts the result of each."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from localcluster.traffic.load import Load, Sort
from localcluster.traffic.tally import Tally

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshop:v1 p"
UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 2\r\n\r\nno"
LAST = b"HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 9\r\n\r\nshop:v1 p"


class Gateway:
    """Answers the n-th request as told, over all connections; None resets the connection."""

    def __init__(self, answer: Callable[[int, bytes], bytes | None]) -> None:
        self.requests: list[bytes] = []
        self.connections = self.open = 0
        self._answer = answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(request)
                answer = self._answer(len(self.requests), request)
                if answer is None:
                    writer.transport.abort()
                    return
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()
            self.open -= 1


@asynccontextmanager
async def running(gateway: Gateway, *sorts: Sort) -> AsyncIterator[Tally]:
    server = await asyncio.start_server(gateway.serve, "127.0.0.1", 0)
    tally = Tally()
    port = server.sockets[0].getsockname()[1]
    load = Load(port, "shop.example", sorts or (Sort("plain"),), 2000, tally)
    task = asyncio.create_task(load.run())
    try:
        yield tally
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        server.close()
        async with asyncio.timeout(60):
            while gateway.open:  # noqa: ASYNC110 - one loop turn after the other
                await asyncio.sleep(0)


async def until(tally: Tally, requests: int) -> None:
    async with asyncio.timeout(60):
        while tally.requests < requests:  # noqa: ASYNC110 - counts have no event of their own
            await asyncio.sleep(0.01)


async def test_answers_are_counted_by_sort_and_image() -> None:
    gateway = Gateway(lambda _, __: OK)
    marked = Sort("marked", 1, "/", (("x-user", "tester"),))
    async with running(gateway, Sort("plain", 3), marked) as tally:
        await until(tally, 40)
    assert tally.whole.failed == 0
    assert tally.whole.total("plain") == pytest.approx(3 * tally.whole.total("marked"), abs=4)
    assert sum(b"x-user: tester" in r for r in gateway.requests) == tally.whole.total("marked")
    assert all(b"Host: shop.example\r\n" in r for r in gateway.requests)


@pytest.mark.parametrize(
    ("bad", "why"),
    [pytest.param(UNAVAILABLE, "503 no", id="503"), pytest.param(None, "closed", id="reset")],
)
async def test_a_lost_request_is_counted_once_and_not_sent_again(
    bad: bytes | None, why: str
) -> None:
    gateway = Gateway(lambda number, _: bad if number == 5 else OK)
    async with running(gateway) as tally:
        await until(tally, 30)
    assert tally.whole.failed == 1
    assert why in tally.failures[0].why.lower()
    assert len(gateway.requests) == tally.requests


async def test_a_connection_the_gateway_gives_up_is_not_used_again() -> None:
    gateway = Gateway(lambda _, __: LAST)
    async with running(gateway) as tally:
        await until(tally, 30)
    assert tally.whole.failed == 0
    assert gateway.connections == len(gateway.requests)


async def test_where_nobody_listens_every_request_is_lost() -> None:
    gateway = Gateway(lambda _, __: OK)
    server = await asyncio.start_server(gateway.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    tally = Tally()
    task = asyncio.create_task(Load(port, "h", (Sort("plain"),), 1000, tally).run())
    await until(tally, 3)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert tally.whole.failed == tally.requests
    assert "ConnectionRefused" in tally.failures[0].why
