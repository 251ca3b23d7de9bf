"""The answers at the address of a simulated pod, and their time."""

import asyncio

import pytest

from localcluster.api import JsonObject
from localcluster.traffic import pods
from localcluster.traffic.pods import Addresses, Connection

ADDRESS = "127.0.0.2"


def pod(name: str, *, ready: bool = True, ip: str = ADDRESS, deleting: bool = False) -> JsonObject:
    status: JsonObject = {"podIP": ip} if ip else {}
    status["conditions"] = [{"type": "Ready", "status": "True" if ready else "False"}]
    metadata = {"name": name, "uid": f"uid-{name}"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {
        "metadata": metadata,
        "spec": {"containers": [{"image": "shop:v2"}]},
        "status": status,
    }


def test_a_ready_pod_answers_with_its_image_and_name_until_it_is_gone() -> None:
    addresses = Addresses()
    addresses.see("ADDED", pod("a", ip=""))
    assert not addresses.is_known(ADDRESS)
    addresses.see("MODIFIED", pod("a"))
    assert (addresses.at(ADDRESS) or b"").endswith(b"\r\n\r\nshop:v2 a")
    addresses.see("MODIFIED", pod("a", deleting=True))
    assert addresses.at(ADDRESS) is not None
    addresses.see("DELETED", pod("a", deleting=True))
    assert addresses.at(ADDRESS) is None
    assert not addresses.is_known(ADDRESS)


def test_a_pod_that_is_not_ready_is_known_and_does_not_answer() -> None:
    addresses = Addresses()
    addresses.see("ADDED", pod("a", ready=False))
    assert addresses.is_known(ADDRESS)
    assert addresses.at(ADDRESS) is None


def test_the_end_of_an_addresss_former_pod_takes_nothing_from_its_new_one() -> None:
    addresses = Addresses()
    addresses.see("ADDED", pod("a"))
    addresses.see("ADDED", pod("b"))
    addresses.see("DELETED", pod("a"))
    assert (addresses.at(ADDRESS) or b"").endswith(b"shop:v2 b")


async def ask(addresses: Addresses) -> bytes:
    """Send one request to the pod's address and return the answer, or nothing if the connection is reset."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(addresses), ADDRESS, 0)
    port = server.sockets[0].getsockname()[1]
    try:
        reader, writer = await asyncio.open_connection(ADDRESS, port)
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        try:
            answer = await reader.readuntil(b"shop:v2 a")
        except (asyncio.IncompleteReadError, ConnectionError):
            answer = b""
        writer.close()
        return answer
    finally:
        server.close()
        async with asyncio.timeout(60):
            while addresses.connections[ADDRESS]:  # noqa: ASYNC110 - one loop turn after the other
                await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("ready", "answers"),
    [pytest.param(True, True, id="ready"), pytest.param(False, False, id="not")],
)
async def test_a_known_pod_answers_or_resets_at_once(ready: bool, answers: bool) -> None:
    addresses = Addresses()
    addresses.see("ADDED", pod("a", ready=ready))
    assert bool(await ask(addresses)) is answers


async def test_a_request_ahead_of_the_news_of_its_pod_waits_for_it() -> None:
    addresses = Addresses()
    asking = asyncio.create_task(ask(addresses))
    async with asyncio.timeout(60):
        while not addresses.connections[ADDRESS]:  # noqa: ASYNC110 - one loop turn after the other
            await asyncio.sleep(0)
    addresses.see("ADDED", pod("a"))
    assert (await asking).endswith(b"shop:v2 a")


async def test_an_address_that_belongs_to_nobody_is_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods, "HELD_SECONDS", 0.01)
    assert await ask(Addresses()) == b""
