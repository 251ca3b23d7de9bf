"""A caller that stops listening: its script is not continued, and does not count as a failure."""

import asyncio
import os
from pathlib import Path

import grpc
import grpc.aio
import pytest

from luaworker.errors import TooLate
from luaworker.metrics import Metrics
from luaworker.pool import Pool
from luaworker.settings import Settings
from luaworker.wire import Call, Limits, Task
from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import Worker, children_of, eventually, worker
from tests.component.luaworker.test_faults import busy

_LIMITS = pb.Limits(cpu_ms=5000, wall_ms=10_000)


def _loop(number: int = 0) -> pb.ExecuteRequest:
    script = f"local n = {number} while true do end".encode()
    return pb.ExecuteRequest(script=script, object_json=b"{}", limits=_LIMITS, tenant="t")


async def _nobody_runs(running: Worker) -> None:
    await eventually(lambda: not busy(set(children_of(running.zygote))), "no script runs")


async def test_a_call_whose_deadline_passed_is_not_run_on(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w") as running:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await running.stub.Execute(_loop(), timeout=0.3)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await _nobody_runs(running)
        assert (await running.run("return {}")).code == pb.OK


async def test_a_cancelled_call_is_not_run_on(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w") as running:
        call = running.stub.Execute(_loop())
        await eventually(lambda: bool(busy(set(children_of(running.zygote)))), "the script runs")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await _nobody_runs(running)


async def test_deadlines_that_pass_do_not_open_the_circuit(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w") as running:
        for _ in range(4):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await running.stub.Execute(_loop(), timeout=0.1)
            assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_the_callers_deadline_shortens_the_childs_timer() -> None:
    settings = Settings(listen="", concurrency=2, queue_wait=60)
    pool = Pool(settings, Metrics())
    try:
        await pool.start()
        limits = settings.clamp(_wire_limits())
        call = Call(Task.EXECUTE, limits, b"s", b"while true do end", b"{}")
        with pytest.raises(TooLate, match="deadline passed"):
            await pool.run(call, "t", 2.0)
    finally:
        await pool.close()


def _wire_limits() -> Limits:
    return Limits(_LIMITS.cpu_ms, _LIMITS.wall_ms, 0, 0)


async def test_a_message_beyond_all_sizes_is_refused(shared_worker: Worker) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await shared_worker.run("return {}", b'"' + b"x" * (11 << 20) + b'"')
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_an_object_beyond_its_size_is_refused_by_name(shared_worker: Worker) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match="the object has") as caught:
        await shared_worker.run("return {}", b'"' + b"x" * (8 << 20) + b'"')
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_socket_left_over_by_a_killed_worker_is_taken_over(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w") as first:
        os.kill(first.pid, 9)
        await first.process.wait()
        async with worker(f"unix://{tmp_path}/w") as second:
            assert (await second.run("return {}")).code == pb.OK
