"""The worker in the pod it is meant for: user 65532, no capability, the container runtime's default filter.

Emulated, and never skipped: this is where the worker has to run, and where its own locks have to work.
"""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker import image, pod
from tests.component.luaworker.process import Worker, children_of, eventually, worker

_PROBE = """
import ctypes, os, socket
syscall = ctypes.CDLL(None, use_errno=True).syscall
def errno_of(call):
    try:
        call()
    except OSError as error:
        return error.errno
    return 0
def unshare():
    if ctypes.CDLL(None, use_errno=True).unshare(0x10000000):
        raise OSError(ctypes.get_errno(), "unshare")
print(os.getuid(), errno_of(unshare), errno_of(lambda: socket.socket(40, 1)), errno_of(lambda: os.chroot("/")))
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def interpreter() -> AsyncIterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="moonshift-image-"))
    try:
        yield await asyncio.to_thread(image.build, folder)
    finally:
        shutil.rmtree(folder)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(interpreter: Path) -> AsyncIterator[Worker]:
    command = [sys.executable, pod.__file__, str(interpreter), "-m", "luaworker"]
    async with worker("127.0.0.1:0", command=command) as started:
        started.address = f"127.0.0.1:{started.start_entry['port']}"
        yield started


async def test_the_emulation_denies_each_target_that_a_pod_is_denied(interpreter: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, pod.__file__, str(interpreter), "-c", _PROBE, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    user = pod.USER if os.geteuid() == 0 else os.getuid()
    assert output.decode().split() == [str(user), "1", "1", "1"]


async def test_the_sandbox_is_proven_there(running: Worker) -> None:
    assert running.start_entry["msg"] == "serving"


async def test_scripts_run_there(running: Worker) -> None:
    answer = await running.run("obj.seen = true return obj", '{"a":[]}')
    assert answer.result_json == b'{"a":[],"seen":true}'


async def test_loops_are_stopped_there(running: Worker) -> None:
    limits = pb.Limits(cpu_ms=100, wall_ms=8000)
    polite = await running.run("while true do end", limits=limits)
    deaf = await running.run("xpcall(error, function() while true do end end)", limits=limits)
    assert (polite.code, polite.line) == (pb.TIMEOUT, 1)
    assert (deaf.code, deaf.line) == (pb.TIMEOUT, 0)


async def test_nobody_may_look_into_its_processes(running: Worker) -> None:
    await eventually(lambda: bool(children_of(running.zygote)), "spares")
    family = (running.pid, running.zygote, *children_of(running.zygote))
    # The kernel makes root the owner of the /proc files of a process that is not dumpable, whatever its user is.
    assert {os.stat(f"/proc/{pid}/stat").st_uid for pid in family} == {0}


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


async def test_the_workers_processes_have_no_capability_and_cannot_gain_one(
    running: Worker,
) -> None:
    for pid in (running.pid, running.zygote):
        status = status_of(pid)
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
        assert status["NoNewPrivs"] == "1"
