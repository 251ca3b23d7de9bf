"""Processes of the worker that are killed from outside, and the processes that are left when it ends."""

import asyncio
import os
import signal
from pathlib import Path

import grpc
import grpc.aio
import pytest

from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import (
    Worker,
    children_of,
    eventually,
    is_alive,
    served,
    worker,
)

FLAGS = ("--cpu-ms", "200", "--wall-ms", "1000", "--concurrency", "4")
SPARES = 6


async def spares_ready(running: Worker) -> list[int]:
    """The zygote's children, once the stock is full."""
    await eventually(lambda: len(children_of(running.zygote)) == SPARES, "a full stock of spares")
    return children_of(running.zygote)


async def echo(running: Worker) -> bytes:
    """The answer of a call that is repeated if the worker had no process for half a second."""
    async with asyncio.timeout(60):
        while True:
            try:
                return (await running.run("return obj", '{"a":[]}')).result_json
            except grpc.aio.AioRpcError as refused:
                if refused.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise


async def test_a_killed_zygote_is_replaced_and_calls_are_served_again(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w", *FLAGS) as running:
        first = running.zygote
        children = await spares_ready(running)
        os.kill(first, signal.SIGKILL)
        assert await served(running, '{"a":[]}') == b'{"a":[]}'
        assert first not in children_of(running.pid)
        await eventually(lambda: not any(map(is_alive, children)), "its children are dead")


async def test_killed_spares_are_replaced_and_calls_are_served_again(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w", *FLAGS) as running:
        for pid in await spares_ready(running):
            os.kill(pid, signal.SIGKILL)
        assert await served(running, '{"a":[]}') == b'{"a":[]}'
        await spares_ready(running)


async def test_a_child_killed_by_a_stranger_costs_nobody_a_call(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w", *FLAGS) as running:
        idle = set(await spares_ready(running))
        call = asyncio.create_task(
            running.run("local x = 0 for i = 1, 4e6 do x = x + i end return {x}")
        )
        # The child that runs is one of the spares, and the only one that uses any CPU.
        await eventually(lambda: bool(busy(idle)) or call.done(), "a child at work")
        for pid in busy(idle):
            os.kill(pid, signal.SIGKILL)
        assert (await call).result_json == b"[8000002000000]"


async def test_a_crash_is_an_outcome(tmp_path: Path) -> None:
    patient = pb.Limits(cpu_ms=5_000, wall_ms=10_000)
    async with worker(f"unix://{tmp_path}/w", *FLAGS) as running:
        idle = set(await spares_ready(running))
        request = pb.ExecuteRequest(
            script=b"while true do end", object_json=b"{}", script_name="s", limits=patient,
            tenant="demo\x1b[2J\n", request_id="r" * 1_000_000,
        )  # fmt: skip
        call = asyncio.ensure_future(running.stub.Execute(request, timeout=60))

        def crash_whoever_works() -> bool:
            # A new spare may be found, too; that does no harm, and the next look finds the other child.
            for pid in busy(idle):
                os.kill(pid, signal.SIGSEGV)
            return call.done()

        await eventually(crash_whoever_works, "an answer after the crash")
        answer = await call
        assert (answer.code, answer.message) == (
            pb.CRASHED,
            "s: the script's process crashed (SIGSEGV)",
        )
        assert await echo(running) == b'{"a":[]}'
    (reported,) = (entry for entry in running.log if entry.get("msg") == "script process killed")
    assert (reported["tenant"], reported["request_id"]) == ("demo\x1b[2J\n", "r" * 512)


def busy(pids: set[int]) -> list[int]:
    """Processes of these that are running, not waiting."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state == "R":
            found.append(pid)
    return found


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root may count a protected process' descriptors"
)
async def test_calls_leave_neither_processes_nor_descriptors(tmp_path: Path) -> None:
    def descriptors(running: Worker) -> int:
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in (running.pid, running.zygote))

    async with worker(f"unix://{tmp_path}/w", *FLAGS) as running:
        scripts = ["return obj", "while true do end", "error('x')", "return 1"]
        for script in scripts:
            await running.run(script)
        await spares_ready(running)
        before = descriptors(running)
        for _ in range(30):
            await asyncio.gather(
                *(running.run(s, tenant=t) for t in "ab" for s in ("return obj", "x("))
            )
        for script in scripts:
            await running.run(script)
        await spares_ready(running)
        # Two per child, and children come and go; 130 calls that leaked would stand out.
        await eventually(lambda: descriptors(running) <= before, "no descriptor is left over")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
async def test_no_process_survives_the_worker(tmp_path: Path, number: signal.Signals) -> None:
    async with worker(f"unix://{tmp_path}/w", *FLAGS) as running:
        family = [running.zygote, *await spares_ready(running)]
        code = await running.stop(number)
        assert code == (0 if number is signal.SIGTERM else -number)
        await eventually(lambda: not any(map(is_alive, family)), "zygote and children are dead")


async def test_a_running_call_is_finished_before_the_worker_stops(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w", *FLAGS) as running:
        idle = set(await spares_ready(running))
        call = asyncio.create_task(running.run("while true do end"))
        await eventually(lambda: bool(busy(idle)), "the script runs")
        running.process.send_signal(signal.SIGTERM)
        assert (await call).code == pb.TIMEOUT
        assert await running.process.wait() == 0


async def test_more_calls_than_may_wait_are_refused_at_once(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w", *FLAGS) as running:

        async def status(tenant: str) -> grpc.StatusCode:
            try:
                await running.run(f"local t = '{tenant}' while true do end", tenant=tenant)
            except grpc.aio.AioRpcError as error:
                return error.code()
            return grpc.StatusCode.OK

        found = await asyncio.gather(*(status(str(n)) for n in range(100)))
        assert found.count(grpc.StatusCode.OK) >= 4
        assert found.count(grpc.StatusCode.RESOURCE_EXHAUSTED) >= 30
        assert await echo(running) == b'{"a":[]}'


async def test_a_flood_of_one_tenant_leaves_room_for_another(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w", *FLAGS) as running:
        flood = [
            asyncio.create_task(running.run(f"local n = {n} while true do end", tenant="loud"))
            for n in range(12)
        ]
        await eventually(lambda: bool(busy(set(children_of(running.zygote)))), "the flood runs")
        assert await echo(running) == b'{"a":[]}'
        assert not all(task.done() for task in flood)
        await asyncio.gather(*flood, return_exceptions=True)
