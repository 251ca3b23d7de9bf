"""The client against real workers: present, absent, killed, restarted, two of them, none of ours."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import grpc.aio
import pytest

from controller.errors import BadConfiguration, WorkerUnavailable
from controller.scripts.lookup import Script
from controller.scripts.modules import Module
from controller.scripts.script_outcome import Executed, Refused, ScriptAnswer
from controller.scripts.worker_client import ScriptClient
from protos.luaworker.v1 import luaworker_pb2 as pb
from protos.luaworker.v1 import luaworker_pb2_grpc as pb_grpc
from tests.component.luaworker.certificates import HOUR, authority, write_pair
from tests.component.luaworker.process import Worker, worker


def script(text: str, name: str = "test") -> Script:
    return Script(name, text.encode(), "", "configMap")


@asynccontextmanager
async def client_of(address: str, **more: float) -> AsyncIterator[ScriptClient]:
    client = ScriptClient(address, deadline=more.get("deadline", 60.0))
    try:
        yield client
    finally:
        await client.close()


async def echo(client: ScriptClient) -> ScriptAnswer:
    return await client.execute(script("return obj"), b'{"a":[]}', tenant="t", request_id="r")


class Ran:
    """Metrics that remember."""

    def __init__(self) -> None:
        self.outcomes: list[str] = []

    def script_ran(self, outcome: str, seconds: float) -> None:
        assert seconds >= 0
        self.outcomes.append(outcome)


async def test_a_result_comes_back_with_its_figures(shared_worker: Worker) -> None:
    async with client_of(shared_worker.address) as client:
        answer = await client.execute(
            script("print('hi') return {obj.n}"), b'{"n":7}', tenant="t", request_id="r"
        )
    assert isinstance(answer, Executed)
    assert (answer.result, answer.log) == (b"[7]", ("hi",))
    assert answer.wall_ms > 0


async def test_a_failure_of_the_script_is_an_answer(shared_worker: Worker) -> None:
    ran = Ran()
    client = ScriptClient(shared_worker.address, metrics=ran)
    answer = await client.execute(
        script("\nerror('no route')", "VS"), b"{}", tenant="t", request_id="r"
    )
    assert isinstance(answer, Refused)
    assert (answer.code, answer.line, answer.message) == ("RUNTIME_ERROR", 2, "VS:2: no route")
    too_large = await client.execute(script(" " * (2 << 20)), b"{}", tenant="t", request_id="r")
    assert isinstance(too_large, Refused)
    assert too_large.code == "TOO_LARGE"
    await client.close()
    assert ran.outcomes == ["RUNTIME_ERROR", "TOO_LARGE"]


async def test_validation_says_whether_a_script_compiles(shared_worker: Worker) -> None:
    async with client_of(shared_worker.address) as client:
        good = await client.validate(script("error('not run')"), tenant="t", request_id="r")
        bad = await client.validate(script("x ="), tenant="t", request_id="r")
    assert (
        good == Executed(b"", (), good.cpu_ms, good.wall_ms, good.peak_memory)
        if isinstance(good, Executed)
        else False
    )
    assert isinstance(bad, Refused)
    assert (bad.code, bad.line) == ("SYNTAX_ERROR", 1)


async def test_an_absent_worker_is_reported_before_the_deadline_with_a_remedy(
    tmp_path: Path,
) -> None:
    async with client_of(f"unix://{tmp_path}/none", deadline=3600.0) as client:
        with pytest.raises(WorkerUnavailable, match="--lua-worker") as caught:
            await echo(client)
    assert f"unix://{tmp_path}/none" in str(caught.value)


@pytest.mark.parametrize(("left", "known"), [(-HOUR, True), (HOUR, False)], ids=["old", "unknown"])
async def test_a_rejected_certificate_is_reported_with_the_place_to_look(
    tmp_path: Path, left: timedelta, known: bool
) -> None:
    ours = authority()
    calling = write_pair(tmp_path / "calling", ours, "controller")
    served = write_pair(tmp_path / "served", ours if known else authority(), "localhost", left)
    async with worker("127.0.0.1:0", "--tls-dir", str(served)) as running:
        address = f"ipv4:127.0.0.1:{running.start_entry['port']}"
        client = ScriptClient(address, tls_dir=str(calling))
        with pytest.raises(WorkerUnavailable, match=r"certificate is not accepted.* Secret"):
            await echo(client)
        await client.close()


async def test_a_restarted_worker_is_found_at_once(tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/w"
    async with client_of(address) as client:
        async with worker(address) as first:
            assert isinstance(await echo(client), Executed)
            await first.stop(signal.SIGKILL)
        with pytest.raises(WorkerUnavailable):
            await echo(client)
        async with worker(address):
            assert isinstance(await echo(client), Executed)


async def answered(client: ScriptClient) -> ScriptAnswer:
    """The answer, for a caller that repeats a call which met no child in time, as the controller does."""
    while True:
        try:
            return await echo(client)
        except WorkerUnavailable as no_child_yet:
            if "the zygote died" not in str(no_child_yet):
                raise


async def test_a_zygote_that_dies_costs_no_answer(tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/w"
    async with worker(address) as running, client_of(address) as client:
        assert isinstance(await echo(client), Executed)
        os.kill(running.zygote, signal.SIGKILL)
        answers = await asyncio.gather(*(answered(client) for _ in range(4)))
        assert all(isinstance(answer, Executed) for answer in answers)


async def test_one_of_two_workers_may_die(tmp_path: Path) -> None:
    one, two = worker("127.0.0.1:0"), worker("127.0.0.1:0")
    async with one as first, two as second:
        ports = [running.start_entry["port"] for running in (first, second)]
        address = "ipv4:" + ",".join(f"127.0.0.1:{port}" for port in ports)
        async with client_of(address) as client:
            for _ in range(4):
                assert isinstance(await echo(client), Executed)
            await first.stop(signal.SIGKILL)
            for _ in range(6):
                assert isinstance(await echo(client), Executed)


async def test_a_name_is_resolved(tmp_path: Path) -> None:
    async with (
        worker("127.0.0.1:0") as running,
        client_of(f"dns:///localhost:{running.start_entry['port']}") as client,
    ):
        assert isinstance(await echo(client), Executed)


class Scripted(pb_grpc.LuaExecutorServicer):
    """A worker with prepared answers."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked = 0
        self.peers: list[str] = []

    async def Execute(
        self,
        request: pb.ExecuteRequest,
        context: grpc.aio.ServicerContext[pb.ExecuteRequest, pb.ExecuteResponse],
    ) -> pb.ExecuteResponse:
        self.asked += 1
        self.peers.append(context.peer())
        answer = self.answers.pop(0)
        if isinstance(answer, grpc.StatusCode):
            await context.abort(answer, "as told")
        if answer == "hang":
            await asyncio.Event().wait()
        code, modules = answer if isinstance(answer, tuple) else (answer, 0)
        return pb.ExecuteResponse(code=code, result_json=b"{}", modules=modules)


@asynccontextmanager
async def serving(tmp_path: Path | None, *answers: object) -> AsyncIterator[tuple[Scripted, str]]:
    service = Scripted(*answers)
    server = grpc.aio.server()
    pb_grpc.add_LuaExecutorServicer_to_server(service, server)
    address = f"unix://{tmp_path}/scripted" if tmp_path else "127.0.0.1:0"
    port = server.add_insecure_port(address)
    if tmp_path is None:
        address = f"ipv4:127.0.0.1:{port}"
    await server.start()
    try:
        yield service, address
    finally:
        await server.stop(0)


@pytest.mark.parametrize(
    ("answers", "expected", "asked"),
    [
        pytest.param((grpc.StatusCode.UNAVAILABLE, pb.OK), "OK", 2, id="lost-then-fine"),
        pytest.param((grpc.StatusCode.RESOURCE_EXHAUSTED, pb.OK), "OK", 2, id="busy-then-fine"),
        pytest.param((grpc.StatusCode.INTERNAL, pb.OK), "OK", 2, id="broken-then-fine"),
        pytest.param(("hang", pb.OK), "OK", 2, id="silent-then-fine"),
        pytest.param((pb.TIMEOUT, pb.OK), "OK", 2, id="slow-then-fine"),
        pytest.param((pb.CRASHED, pb.CRASHED), "CRASHED", 2, id="crashes"),
        pytest.param((pb.TIMEOUT, grpc.StatusCode.UNAVAILABLE), "TIMEOUT", 2, id="slow-then-lost"),
        pytest.param((pb.MEMORY_LIMIT,), "MEMORY_LIMIT", 1, id="greedy"),
        pytest.param((pb.CIRCUIT_OPEN,), "CIRCUIT_OPEN", 1, id="open-circuit"),
        pytest.param((grpc.StatusCode.INVALID_ARGUMENT,), "INVALID_REQUEST", 1, id="invalid"),
    ],
)
async def test_only_safe_calls_are_repeated(
    tmp_path: Path, answers: tuple[object, ...], expected: str, asked: int
) -> None:
    async with (
        serving(tmp_path, *answers) as (service, address),
        client_of(address, deadline=0.3) as client,
    ):
        answer = await echo(client)
    assert service.asked == asked
    assert (answer.code if isinstance(answer, Refused) else "OK") == expected


async def test_a_call_that_was_lost_is_repeated_on_another_connection() -> None:
    """The same connection may lead to the same worker, or to nobody any more."""
    lost = grpc.StatusCode.UNAVAILABLE
    async with serving(None, lost, pb.OK) as (service, address), client_of(address) as client:
        await echo(client)
    assert len({*service.peers}) == len(service.peers) == 2


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "add replicas or raise --concurrency"),
        (grpc.StatusCode.UNAVAILABLE, "check that it runs and is ready"),
    ],
)
async def test_a_worker_that_cannot_serve_is_an_exception(
    tmp_path: Path, status: grpc.StatusCode, advice: str
) -> None:
    async with (
        serving(tmp_path, status, status) as (_service, address),
        client_of(address) as client,
    ):
        with pytest.raises(WorkerUnavailable, match=advice):
            await echo(client)


async def test_somebody_elses_service_is_found_out(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, grpc.StatusCode.UNIMPLEMENTED) as (service, address),
        client_of(address) as client,
    ):
        with pytest.raises(WorkerUnavailable, match="something else listens there"):
            await echo(client)
    assert service.asked == 1


@pytest.mark.parametrize("address", ["", "localhost:1", "http://x"])
async def test_an_address_of_no_kind_is_refused(address: str) -> None:
    with pytest.raises(BadConfiguration, match="expected unix:///PATH or dns:///HOST:PORT"):
        ScriptClient(address)


async def test_missing_certificates_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match=r"ca\.crt, tls\.crt, tls\.key missing"):
        ScriptClient("dns:///x:1", tls_dir=str(tmp_path))


async def test_calls_use_mutual_tls(tmp_path: Path) -> None:
    ours = authority()
    server = write_pair(tmp_path / "server", ours, "localhost")
    friend = write_pair(tmp_path / "friend", ours, "controller")
    async with worker("127.0.0.1:0", "--tls-dir", str(server)) as running:
        address = f"dns:///localhost:{running.start_entry['port']}"
        client = ScriptClient(address, tls_dir=str(friend))
        assert isinstance(await echo(client), Executed)
        await client.close()
        async with client_of(address) as plain:
            with pytest.raises(WorkerUnavailable):
                await echo(plain)


def with_module(text: str) -> Script:
    module = Module("sums", b"return {add = function(a, b) return a + b end}")
    return Script("VS", text.encode(), "", "packaged", (module,))


async def test_modules_travel_with_the_script(shared_worker: Worker) -> None:
    async with client_of(shared_worker.address) as client:
        answer = await client.execute(
            with_module("return {sums.add(1, 2)}"), b"{}", tenant="t", request_id="r"
        )
    assert isinstance(answer, Executed)
    assert answer.result == b"[3]"


async def test_a_worker_that_is_too_old_for_modules_is_no_worker(tmp_path: Path) -> None:
    async with serving(tmp_path, pb.OK, pb.OK) as (service, address), client_of(address) as client:
        with pytest.raises(WorkerUnavailable) as caught:
            await client.execute(with_module("return {}"), b"{}", tenant="t", request_id="r")
    assert service.asked == 2
    assert str(caught.value) == (
        f"the script worker at {address} is older than this controller and knows no modules, which the script VS asks "
        "for (--@use); update the worker"
    )


async def test_while_workers_are_replaced_the_new_one_answers(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, pb.OK, (pb.OK, 1)) as (service, address),
        client_of(address) as client,
    ):
        answer = await client.execute(with_module("return {}"), b"{}", tenant="t", request_id="r")
    assert service.asked == 2
    assert isinstance(answer, Executed)
