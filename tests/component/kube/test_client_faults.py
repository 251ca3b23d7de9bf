"""The transport under storms, lost answers, cancellation and load. Times are virtual."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from controller.errors import Forbidden, ServerFault, Throttled, Unauthorized, Unreachable
from controller.kube.api import ControllerApi
from controller.kube.client import KubeClient
from controller.kube.credentials import Source
from controller.kube.resources import PODS
from controller.kube.sending import Limits
from controller.runtime.rate import TokenBucket
from tests.component.kube.faulty_server import (
    FaultyServer,
    Reply,
    Request,
    Responder,
    answering,
    connected,
    event,
    resetting,
    silent,
    status,
    thing,
    write_kubeconfig,
)
from tests.component.runtime.virtual_time import now, virtual_time

FORBIDDEN = status(403, "Forbidden", "exceeded quota: compute")


class Requests:
    """Metrics of a client."""

    def __init__(self) -> None:
        self.codes: Counter[str] = Counter()

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        self.codes[code] += 1


async def storm(client: KubeClient, count: int = 100) -> Counter[str]:
    """Many requests at once; how they ended."""
    results = await asyncio.gather(
        *(client.get(PODS, "shop", f"p{n}") for n in range(count)), return_exceptions=True
    )
    return Counter(type(result).__name__ for result in results)


@virtual_time
async def test_a_storm_of_403_costs_one_request_each_and_no_open_watch() -> None:
    lines = [event("ADDED", thing(f"a{n}", str(n))) for n in range(30)]

    async def slowly(request: Request, reply: Reply) -> None:
        await reply.begin_stream()
        for line in lines:
            await reply.send(line)
            await asyncio.sleep(0.01)
        await reply.until_closed()

    server = FaultyServer(lists=[answering(403, FORBIDDEN)], watches=[slowly])
    async with server.running(), connected(server) as client:
        async with client.watch(PODS, None, "1") as watch:
            assert await storm(client) == {"Forbidden": 100}
            received = [await anext(watch) for _ in range(30)]
        assert len(received) == 30
        assert len(server.listed) == 100


@virtual_time
async def test_a_forbidden_write_carries_the_servers_message() -> None:
    server = FaultyServer(others=[answering(403, FORBIDDEN)])
    async with server.running(), connected(server) as client:
        with pytest.raises(Forbidden, match="exceeded quota: compute"):
            await client.create(PODS, "shop", b"{}")
    assert len(server.requests) == 1


@virtual_time
async def test_a_storm_of_401_with_an_unchanged_token_is_not_doubled() -> None:
    server = FaultyServer(others=[answering(401, status(401, "Unauthorized", "expired"))])
    async with server.running(), connected(server) as client:
        assert await storm(client) == {"Unauthorized": 100}
    assert len(server.requests) == 100


def accepting(server_token: list[str]) -> Responder:
    async def respond(request: Request, reply: Reply) -> None:
        if request.headers.get("authorization") == f"Bearer {server_token[0]}":
            await reply.answer(200, b"{}")
        else:
            await reply.answer(401, status(401, "Unauthorized", "unknown token"))

    return respond


@virtual_time
async def test_a_rotated_token_file_is_read_again_at_once_and_no_call_is_lost(
    tmp_path: Path,
) -> None:
    token_file = tmp_path / "token"
    token_file.write_text("one\n")
    accepted = ["one"]
    server = FaultyServer(others=[accepting(accepted)])
    async with server.running():
        config = write_kubeconfig(tmp_path, server, {"tokenFile": str(token_file)})
        async with connected(server, source=Source(kubeconfig=config)) as client:
            assert await storm(client, 50) == {"bytes": 50}
            token_file.write_text("two\n")
            accepted[0] = "two"
            before = len(server.requests)
            assert await storm(client, 50) == {"bytes": 50}
            # one round of refusals at most, for the requests in flight when the token changed
            assert len(server.requests) - before <= 100


@virtual_time
async def test_a_token_file_is_read_again_every_minute(tmp_path: Path) -> None:
    token_file = tmp_path / "token"
    token_file.write_text("one")
    server = FaultyServer(others=[answering(200, b"{}")])
    async with server.running():
        config = write_kubeconfig(tmp_path, server, {"tokenFile": str(token_file)})
        async with connected(server, source=Source(kubeconfig=config)) as client:
            await client.get(PODS, "shop", "a")
            token_file.write_text("two")
            await asyncio.sleep(59)
            await client.get(PODS, "shop", "a")
            await asyncio.sleep(2)
            await client.get(PODS, "shop", "a")
            token_file.unlink()
            await asyncio.sleep(61)
            await client.get(PODS, "shop", "a")
    tokens = [request.headers["authorization"] for request in server.requests]
    assert tokens == ["Bearer one", "Bearer one", "Bearer two", "Bearer two"]


@virtual_time
async def test_a_short_retry_after_is_waited_for_once() -> None:
    busy = answering(429, status(429, "TooManyRequests", "busy"), Retry_After="3")
    server = FaultyServer(others=[busy, answering(201, b"{}")])
    async with server.running(), connected(server) as client:
        assert await client.create(PODS, "shop", b"{}") == b"{}"
        assert now() == pytest.approx(3, abs=0.1)


@virtual_time
async def test_a_long_retry_after_is_the_callers_decision() -> None:
    busy = answering(429, status(429, "TooManyRequests", "busy"), Retry_After="60")
    server = FaultyServer(others=[busy])
    async with server.running(), connected(server) as client:
        with pytest.raises(Throttled) as caught:
            await client.get(PODS, "shop", "a")
    assert caught.value.retry_after == 60
    assert len(server.requests) == 1


@virtual_time
async def test_a_server_that_stays_busy_is_asked_twice_only() -> None:
    busy = answering(429, status(429, "TooManyRequests", "busy"), Retry_After="1")
    server = FaultyServer(others=[busy])
    async with server.running(), connected(server) as client:
        with pytest.raises(Throttled):
            await client.get(PODS, "shop", "a")
    assert len(server.requests) == 2


@virtual_time
async def test_a_503_is_repeated_for_a_replace_but_not_for_a_create() -> None:
    away = answering(503, status(503, "ServiceUnavailable", "leader changed"), Retry_After="1")
    server = FaultyServer(others=[away])
    async with server.running(), connected(server) as client:
        with pytest.raises(ServerFault, match="leader changed"):
            await client.create(PODS, "shop", b"{}")
        assert len(server.requests) == 1
        with pytest.raises(ServerFault):
            await client.replace(PODS, "shop", "a", b"{}")
        assert len(server.requests) == 3


@virtual_time
async def test_a_lost_answer_is_asked_for_again_unless_the_request_creates_or_appends() -> None:
    server = FaultyServer(others=[resetting])
    async with server.running(), connected(server) as client:
        with pytest.raises(Unreachable):
            await client.create(PODS, "shop", b"{}")
        assert len(server.requests) == 1
        with pytest.raises(Unreachable):
            await client.json_patch(PODS, "shop", "a", [{"op": "add", "path": "/x/-", "value": 1}])
        assert len(server.requests) == 2
        server.others = [resetting, answering(200, b'"fine"')]
        assert await client.merge_patch(PODS, "shop", "a", {}) == b'"fine"'


@virtual_time
async def test_a_refused_connection_is_tried_twice_then_unreachable() -> None:
    server = FaultyServer()
    async with server.running():
        pass
    metrics = Requests()
    async with connected(server, metrics=metrics) as client:
        with pytest.raises(Unreachable, match="POST /api/v1/namespaces/shop/pods"):
            await client.create(PODS, "shop", b"{}")
    assert metrics.codes == {"<error>": 2}


@virtual_time
async def test_a_silent_server_is_given_up_after_the_answer_timeout() -> None:
    async def mute(request: Request, reply: Reply) -> None:
        await reply.until_closed()

    server = FaultyServer(others=[mute])
    async with server.running(), connected(server) as client:
        with pytest.raises(Unreachable, match="no answer in time"):
            await client.merge_patch(PODS, "shop", "a", {})
        assert now() == pytest.approx(15, abs=0.1)
    assert len(server.requests) == 1


@virtual_time
async def test_cancelled_requests_leak_no_connection_and_still_arrive() -> None:
    async def slow(request: Request, reply: Reply) -> None:
        await asyncio.sleep(0.1)
        await reply.answer(200, b"{}")

    server = FaultyServer(others=[slow])
    limits = Limits(connections=4, in_flight=4)
    async with server.running(), connected(server, limits=limits) as client:
        for _ in range(25):
            tasks = [asyncio.create_task(client.get(PODS, "shop", f"p{n}")) for n in range(4)]
            await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert await storm(client, 8) == {"bytes": 8}
        assert server.connections <= 4
    assert len(server.requests) >= 12


@virtual_time
async def test_a_write_cancelled_while_it_waits_for_its_turn_is_never_sent() -> None:
    server = FaultyServer(others=[answering(200, b"{}")])
    bucket = TokenBucket(rate=1, burst=1)
    async with server.running(), connected(server, bucket=bucket) as client:
        await client.merge_patch(PODS, "shop", "a", {})
        waiting = asyncio.create_task(client.merge_patch(PODS, "shop", "b", {}))
        await asyncio.sleep(0.5)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.sleep(5)
    assert [request.path for request in server.requests] == ["/api/v1/namespaces/shop/pods/a"]


@virtual_time
async def test_writes_keep_to_the_rate_and_reads_do_not_wait_for_it() -> None:
    server = FaultyServer(others=[answering(200, b"{}")])
    async with server.running(), connected(server, bucket=TokenBucket(10, 5)) as client:
        await asyncio.gather(*(client.merge_patch(PODS, "shop", "a", {}) for _ in range(25)))
        assert now() == pytest.approx(2.0, abs=0.2)
        before = now()
        assert await storm(client, 50) == {"bytes": 50}
        assert now() - before < 0.1


@virtual_time
async def test_no_more_requests_are_in_flight_than_allowed() -> None:
    flying, most = 0, 0

    async def counted(request: Request, reply: Reply) -> None:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.05)
        flying -= 1
        await reply.answer(200, b"{}")

    server = FaultyServer(others=[counted])
    async with server.running(), connected(server) as client:
        assert await storm(client, 200) == {"bytes": 200}
    assert most == 32


@virtual_time
async def test_many_open_watches_do_not_starve_requests() -> None:
    server = FaultyServer(lists=[answering(200, b"{}")], watches=[silent()])
    async with (
        server.running(),
        connected(server, limits=Limits(connections=2)) as client,
        asyncio.TaskGroup() as group,
    ):
        watches = [group.create_task(_watch_for_ever(client)) for _ in range(80)]
        await asyncio.sleep(0.1)
        assert await storm(client, 10) == {"bytes": 10}
        assert len(server.watched) == 80
        for watch in watches:
            watch.cancel()


async def _watch_for_ever(client: KubeClient) -> None:
    async with client.watch(PODS, None, "1") as lines:
        async for _ in lines:
            pass


@virtual_time
async def test_requests_are_counted_by_code() -> None:
    metrics = Requests()
    server = FaultyServer(others=[answering(200, b"{}"), answering(404)])
    async with server.running(), connected(server, metrics=metrics) as client:
        await client.get(PODS, "shop", "a")
        with pytest.raises(Exception, match="404"):
            await client.get(PODS, "shop", "a")
    assert metrics.codes == {"200": 1, "404": 1}


@virtual_time
async def test_closing_waits_for_the_request_in_flight() -> None:
    async def slow(request: Request, reply: Reply) -> None:
        await asyncio.sleep(1)
        await reply.answer(200, b"{}")

    server = FaultyServer(others=[slow])
    async with server.running():
        api = ControllerApi(Source(url=server.url), user_agent="tests")
        await api.open()
        write = asyncio.create_task(KubeClient(api).merge_patch(PODS, "shop", "a", {}))
        await asyncio.sleep(0.1)
        await api.aclose()
        assert await write == b"{}"


@virtual_time
async def test_an_expired_credential_is_an_unauthorized_error() -> None:
    server = FaultyServer(others=[answering(401, status(401, "Unauthorized", "expired"))])
    async with server.running(), connected(server) as client:
        with pytest.raises(Unauthorized, match="expired"):
            await client.get(PODS, "shop", "a")


@virtual_time
async def test_redirects_are_not_followed() -> None:
    server = FaultyServer(others=[answering(307, b"", Location="http://127.0.0.1:1/")])
    async with server.running(), connected(server) as client:
        with pytest.raises(ServerFault):
            await client.get(PODS, "shop", "a")
    assert len(server.requests) == 1


@virtual_time
async def test_a_request_that_waits_for_its_turn_at_the_end_is_not_sent() -> None:
    async def never(request: Request, reply: Reply) -> None:
        await reply.until_closed()

    server = FaultyServer(others=[never])
    async with server.running():
        api = ControllerApi(
            Source(url=server.url), user_agent="tests", limits=Limits(in_flight=1, close=0.1)
        )
        await api.open()
        client = KubeClient(api)
        first = asyncio.create_task(client.get(PODS, "shop", "a"))
        second = asyncio.create_task(client.get(PODS, "shop", "b"))
        await asyncio.sleep(0.1)
        await api.aclose()
        with pytest.raises(Unreachable, match="closed"):
            await asyncio.wait_for(second, 5)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
