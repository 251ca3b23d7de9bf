"""Probes and metrics over HTTP."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator

import aiohttp
import pytest

from controller.errors import BadConfiguration
from controller.telemetry.health import CONNECTIONS, HealthServer, Rendered, parse_address


class Page:
    """A page that knows who asked for it."""

    def __init__(self) -> None:
        self.looked_in: list[threading.Thread] = []
        self.rendered_in: list[threading.Thread] = []

    def look(self) -> None:
        self.looked_in.append(threading.current_thread())

    def let_go(self) -> None: ...

    def render(self, accept: str) -> Rendered:
        self.rendered_in.append(threading.current_thread())
        return Rendered(b"up 1\n", "text/plain; charset=utf-8")


@contextlib.asynccontextmanager
async def serving(server: HealthServer) -> AsyncIterator[aiohttp.ClientSession]:
    task = asyncio.create_task(server.run())
    try:
        await asyncio.wait_for(server.listening.wait(), 60)
        async with aiohttp.ClientSession() as session:
            yield session
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def fetched(session: aiohttp.ClientSession, port: int, path: str) -> tuple[int, str]:
    async with session.get(f"http://127.0.0.1:{port}{path}") as response:
        return response.status, await response.text()


async def test_readiness_names_the_failed_checks_and_liveness_ignores_them() -> None:
    server = HealthServer("127.0.0.1:0", "0", Page())
    reasons: dict[str, str | None] = {"caches": "pods not listed yet"}
    server.add_ready_check("caches", lambda: reasons["caches"])
    server.add_ready_check("worker", lambda: None)
    async with serving(server) as session:
        port = server.ports["probes"]
        status, text = await fetched(session, port, "/readyz")
        assert status == 503
        assert text == "[-]caches failed: pods not listed yet\n[+]worker ok\nfailed\n"
        assert (await fetched(session, port, "/healthz"))[0] == 200
        reasons["caches"] = None
        assert (await fetched(session, port, "/readyz"))[0] == 200


async def test_the_state_of_caches_is_shown_and_readiness_does_not_wait_for_them() -> None:
    server = HealthServer("127.0.0.1:0", "0", Page())
    server.add_ready_check("webhooks", lambda: None)
    server.add_note("cache-pods", lambda: "Forbidden: you cannot list pods")
    server.add_note("cache-services", lambda: None)
    async with serving(server) as session:
        port = server.ports["probes"]
        assert await fetched(session, port, "/readyz") == (200, "[+]webhooks ok\nok\n")
        status, text = await fetched(session, port, "/readyz?verbose")
        assert status == 200
        assert text == (
            "[+]webhooks ok\n[~]cache-pods Forbidden: you cannot list pods\n[~]cache-services ok\nok\n"
        )


async def test_metrics_are_looked_at_on_the_loop_and_rendered_in_a_thread() -> None:
    page = Page()
    server = HealthServer("127.0.0.1:0", "127.0.0.1:0", page)
    async with serving(server) as session:
        status, text = await fetched(session, server.ports["metrics"], "/metrics")
        assert (status, text) == (200, "up 1\n")
        assert (await fetched(session, server.ports["probes"], "/metrics"))[0] == 404
    assert page.looked_in == [threading.main_thread()]
    assert page.rendered_in != page.looked_in
    assert len(page.rendered_in) == 1


async def test_connections_that_say_nothing_are_few_and_keep_nobody_out() -> None:
    server = HealthServer("127.0.0.1:0", "0", Page())
    async with serving(server) as session, contextlib.AsyncExitStack() as stack:
        port = server.ports["probes"]
        silent = []
        for _ in range(300):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            stack.callback(writer.close)
            silent.append(reader)
        for _ in range(3):
            assert (await fetched(session, port, "/healthz"))[0] == 200
        over = [asyncio.create_task(reader.read()) for reader in silent]
        await asyncio.wait(over[: 300 - CONNECTIONS], timeout=15)
        assert sum(task.done() for task in over) >= 300 - CONNECTIONS
        for task in over:
            task.cancel()
        await asyncio.gather(*over, return_exceptions=True)


async def test_an_address_in_use_is_a_clear_error() -> None:
    first = HealthServer("127.0.0.1:0", "0", Page())
    async with serving(first):
        address = f"127.0.0.1:{first.ports['probes']}"
        with pytest.raises(BadConfiguration, match="cannot listen on"):
            await HealthServer(address, "0", Page()).run()


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (":8080", (None, 8080)),
        ("127.0.0.1:81", ("127.0.0.1", 81)),
        ("[::1]:81", ("::1", 81)),
        ("0", None),
        ("", None),
    ],
)
def test_addresses_are_read_as_go_writes_them(
    address: str, expected: tuple[str | None, int] | None
) -> None:
    assert parse_address(address) == expected


@pytest.mark.parametrize("address", ["8080", "host:", "host:http", ":99999", ":²"])
def test_a_malformed_address_is_refused(address: str) -> None:
    with pytest.raises(BadConfiguration, match="is not an address"):
        parse_address(address)
