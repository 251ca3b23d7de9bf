"""Look-ups that hang take threads of their own, and no more than a few for each namespace."""

import asyncio
import socket
import threading

import pytest
from aiohttp.abc import ResolveResult

from controller.outbound import dns
from controller.outbound.dns import ASKER, MAX_OF_ASKER, Names


class Hanging:
    """A system whose name servers are silent about one name."""

    def __init__(self) -> None:
        self.silent = threading.Event()
        self.full = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.asked: list[str] = []

    def __call__(self, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        self.asked.append(host)
        if len(self.asked) == MAX_OF_ASKER:
            self._loop.call_soon_threadsafe(self.full.set)
        if host == "slow":
            self.silent.wait(30)
        return []


async def resolving(found: Names, asker: str, host: str) -> list[ResolveResult]:
    ASKER.set(asker)
    return await found.resolve(host)


async def test_look_ups_that_hang_delay_no_other_namespace_and_no_other_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system, found = Hanging(), Names()
    monkeypatch.setattr(dns, "look_up", system)
    slow = [asyncio.create_task(resolving(found, "slow", "slow")) for _ in range(50)]
    await system.full.wait()
    async with asyncio.timeout(10):
        assert await resolving(found, "shop", "quick") == []
        assert await asyncio.to_thread(lambda: 1) == 1
    for task in slow:
        task.cancel()
    await asyncio.gather(*slow, return_exceptions=True)
    # Its threads are still taken, also when nobody waits for them any more.
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await resolving(found, "slow", "else")
    assert system.asked.count("slow") == MAX_OF_ASKER
    system.silent.set()
    async with asyncio.timeout(10):
        assert await resolving(found, "slow", "else") == []
    await found.close()


async def test_look_ups_of_many_namespaces_that_hang_delay_no_other_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system, found = Hanging(), Names()
    monkeypatch.setattr(dns, "look_up", system)
    slow = [
        asyncio.create_task(resolving(found, f"slow-{number // MAX_OF_ASKER}", "slow"))
        for number in range(100 * MAX_OF_ASKER)
    ]
    await system.full.wait()
    async with asyncio.timeout(10):
        assert await resolving(found, "shop", "quick") == []
    system.silent.set()
    await asyncio.gather(*slow)
    await found.close()


async def test_the_systems_names_are_found() -> None:
    found = Names()
    addresses = {one["host"] for one in await found.resolve("localhost", 80, socket.AF_UNSPEC)}
    assert addresses <= {"127.0.0.1", "::1"}
    assert addresses
    await found.close()
