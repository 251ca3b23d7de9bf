"""Children that lie, and children that are killed by the hundred: no wrong answer, and nothing left."""

import asyncio
import os
import signal
import socket
import struct
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import grpc
import grpc.aio
import pytest

from luaworker import wire
from luaworker.call_outcome import Outcome
from luaworker.codes import Code
from luaworker.errors import BrokenChild
from luaworker.exchange import converse
from luaworker.spawn import Child
from luaworker.wire import Call, Limits, Reply, Task
from tests.component.luaworker.process import Worker, children_of, eventually, served, worker

LIMITS = Limits(cpu_ms=100, wall_ms=300, memory_bytes=1 << 24, output_bytes=1000)
CALL = Call(Task.EXECUTE, LIMITS, b"s", b"return {}", b"{}")
GOOD = wire.pack_reply(Reply(0, 0, 1, 1, b"{}", b"", b"", b"", b""))
LOST = (
    grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED
)  # fmt: skip


@asynccontextmanager
async def impostor() -> AsyncIterator[tuple[Child, socket.socket]]:
    """A process that does nothing; the test has the other end of its channel."""
    loop = asyncio.get_running_loop()
    process = await asyncio.create_subprocess_exec("sleep", "60", stdin=subprocess.DEVNULL)
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    exited: asyncio.Future[wire.Exit] = loop.create_future()

    async def report() -> None:
        code = await process.wait()
        exited.set_result(wire.Exit(process.pid, -code, 0, 0, 0))

    reporting = asyncio.create_task(report())
    child = Child(process.pid, ours, os.pidfd_open(process.pid), exited)
    try:
        yield child, theirs
    finally:
        child.discard()
        theirs.close()
        await reporting


Lie = Callable[[socket.socket], Coroutine[None, None, None]]


async def _converse_with(lie: Lie) -> Outcome:
    async with impostor() as (child, channel):
        lying = asyncio.create_task(lie(channel))
        try:
            return await converse(child, CALL, 0.1)
        finally:
            lying.cancel()
            await asyncio.gather(lying, return_exceptions=True)


def _saying(*pieces: bytes, closing: bool = False) -> Lie:
    async def lie(channel: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_recv(channel, 1 << 16)
        for piece in pieces:
            await loop.sock_sendall(channel, piece)
        if closing:
            channel.shutdown(socket.SHUT_RDWR)

    return lie


def _header(*lengths: int) -> bytes:
    return struct.pack("<4sBIQQIIIII", b"msr1", 0, 0, 0, 0, *lengths)


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        pytest.param(_saying(os.urandom(4096)), "broke its protocol", id="garbage"),
        pytest.param(_saying(b"\0" * 4096), "broke its protocol", id="zeros"),
        pytest.param(_saying(_header(1 << 31, 0, 0, 0, 0)), "broke its protocol", id="two-gigabytes"),
        pytest.param(_saying(_header(2, 1 << 30, 0, 0, 0)), "broke its protocol", id="endless-message"),
        pytest.param(_saying(GOOD + b"more"), "broke its protocol", id="more-than-announced"),
        pytest.param(_saying(closing=True), "broke its protocol", id="silent-close"),
        pytest.param(_saying(GOOD[:10], closing=True), "broke its protocol", id="close-in-the-header"),
        pytest.param(_saying(GOOD[:-1], closing=True), "broke its protocol", id="close-in-the-body"),
    ],
)  # fmt: skip
async def test_a_child_that_breaks_the_protocol_has_crashed(lie: Lie, message: str) -> None:
    outcome = await _converse_with(lie)
    assert outcome.code is Code.CRASHED
    assert message in outcome.message


@pytest.mark.parametrize(
    "lie",
    [
        pytest.param(_saying(), id="says-nothing"),
        pytest.param(_saying(GOOD[:10]), id="stops-in-the-header"),
        pytest.param(_saying(_header(2, 0, 0, 0, 0) + b"{"), id="stops-in-the-body"),
    ],
)
async def test_a_child_that_stops_talking_is_killed_in_time(lie: Lie) -> None:
    async with asyncio.timeout(60):
        outcome = await _converse_with(lie)
    assert outcome.code is Code.TIMEOUT


async def test_a_reply_in_single_bytes_is_a_reply() -> None:
    outcome = await _converse_with(_saying(*(bytes([b]) for b in GOOD)))
    assert (outcome.code, outcome.result) == (Code.OK, b"{}")


async def test_figures_that_no_child_can_reach_are_cut() -> None:
    """Added to the sums of the metrics, they would make them useless for ever."""
    reply = wire.pack_reply(Reply(0, 0, (1 << 64) - 1, (1 << 64) - 1, b"{}", b"", b"", b"", b""))
    outcome = await _converse_with(_saying(reply))
    assert outcome.code is Code.OK
    assert outcome.cpu_ms <= 2 * LIMITS.wall_ms
    assert outcome.memory <= 2 * LIMITS.memory_bytes


async def test_an_unknown_code_is_nobodys_outcome() -> None:
    reply = wire.pack_reply(Reply(99, 0, 0, 0, b"", b"", b"", b"", b""))
    with pytest.raises(BrokenChild, match="unknown code"):
        await _converse_with(_saying(reply))


async def _echo(running: Worker, number: int) -> bool:
    """Whether the call was served; a wrong answer fails the test."""
    obj = f'{{"n":{number}}}'.encode()
    try:
        answer = await running.run("return obj", obj)
    except grpc.aio.AioRpcError as error:
        if error.code() not in LOST:
            raise
        return False
    assert answer.result_json == obj, answer
    return True


def _descriptors(running: Worker) -> int:
    if os.geteuid() != 0:
        return 0
    return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in (running.pid, running.zygote))


async def test_a_thousand_kills_leave_nothing_behind(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w", "--concurrency", "4") as running:

        def calm() -> bool:
            return len(children_of(running.zygote)) == 6

        await _echo(running, 0)
        await eventually(calm, "a full stock")
        before, killed, served = _descriptors(running), 0, 0
        while killed < 1000:
            calls = [asyncio.create_task(_echo(running, killed + n)) for n in range(2)]
            for pid in children_of(running.zygote):
                with suppress(ProcessLookupError):  # it was killed after its call just now
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
            served += sum(await asyncio.gather(*calls))
            await eventually(lambda: bool(children_of(running.zygote)), "a child")
        assert served > 0
        assert await _echo(running, 1)
        await eventually(lambda: calm() and _descriptors(running) <= before, "nothing is left")


async def test_a_zygote_killed_under_load_costs_no_wrong_answer(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w", "--concurrency", "4") as running:
        for number in range(3):
            calls = [asyncio.create_task(_echo(running, number * 10 + n)) for n in range(4)]
            os.kill(running.zygote, signal.SIGKILL)
            await asyncio.gather(*calls)
            assert await served(running, f'{{"n":{number}}}') == f'{{"n":{number}}}'.encode()
            await eventually(lambda: len(children_of(running.pid)) == 1, "one zygote")
