"""A real worker process for tests: started, asked, looked into, stopped; never left behind."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import grpc
import grpc.aio

from controller.scripts.lookup import Script
from protos.luaworker.v1 import luaworker_pb2 as pb
from protos.luaworker.v1 import luaworker_pb2_grpc as pb_grpc

ROOT = Path(__file__).resolve().parents[3]
_STARTED = ("serving", "listening, not ready")


async def eventually(holds: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Checks a condition again and again, for a limited time, if no event reports it; fails with `what` if it never
    holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"never became true: {what}"
        await asyncio.sleep(0.005)


BEING_REPLACED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
PATIENT = pb.Limits(cpu_ms=5_000, wall_ms=10_000)


async def served(running: "Worker", obj: str) -> bytes:
    """The answer of a script that returns its object, as soon as there is a process for it.

    A call waits half a second for one and is refused then: the machine decides how soon a new one is ready.
    """
    while True:
        try:
            return (await running.run("return obj", obj, limits=PATIENT)).result_json
        except grpc.aio.AioRpcError as error:
            if error.code() not in BEING_REPLACED:
                raise


def children_of(pid: int) -> list[int]:
    """Direct children, zombies included."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == pid:
                    found.append(int(entry.name))
    return found


def is_alive(pid: int) -> bool:
    """There, and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Worker:
    """One running `python -m luaworker`."""

    def __init__(self, process: asyncio.subprocess.Process, address: str) -> None:
        self.process = process
        self.address = address
        self.log: list[dict[str, object]] = []
        self._started = asyncio.Event()
        self._reading = asyncio.create_task(self._read())
        self._channel: grpc.aio.Channel | None = None

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            try:
                entry = json.loads(line)
            except ValueError:
                entry = {"msg": line.decode(errors="replace")}
            self.log.append(entry)
            if entry.get("msg") in _STARTED:
                self._started.set()
        self._started.set()

    async def started(self) -> None:
        async with asyncio.timeout(60):
            await self._started.wait()
        assert any(e.get("msg") in _STARTED for e in self.log), self.log

    @property
    def start_entry(self) -> dict[str, object]:
        return next(e for e in self.log if e.get("msg") in _STARTED)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def zygote(self) -> int:
        (pid,) = children_of(self.pid)
        return pid

    @property
    def stub(self) -> pb_grpc.LuaExecutorStub:
        if self._channel is None:
            options = (("grpc.max_receive_message_length", 16 << 20),)
            self._channel = grpc.aio.insecure_channel(self.address, options=options)
        return pb_grpc.LuaExecutorStub(self._channel)

    @property
    def channel(self) -> grpc.aio.Channel:
        _ = self.stub
        assert self._channel is not None
        return self._channel

    async def run(
        self,
        script: str | bytes | Script,
        obj: str | bytes = b"{}",
        *,
        name: str = "script",
        tenant: str = "demo",
        limits: pb.Limits | None = None,
    ) -> pb.ExecuteResponse:
        text = script.encode() if isinstance(script, str) else script
        text, modules = (text.text, text.modules) if isinstance(text, Script) else (text, ())
        data = obj.encode() if isinstance(obj, str) else obj
        request = pb.ExecuteRequest(
            script=text,
            object_json=data,
            script_name=name,
            tenant=tenant,
            limits=limits,
            modules=[pb.Module(name=m.name, text=m.text, hidden=m.hidden) for m in modules],
        )
        return await self.stub.Execute(request, timeout=60)

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self._channel is not None:
            await self._channel.close()
            self._channel = None
        with suppress(ProcessLookupError):
            self.process.send_signal(number)
        code = await self.process.wait()
        await self._reading
        return code


@asynccontextmanager
async def worker(
    listen: str,
    *flags: str,
    metrics: str = "0",
    probes: str = "0",
    address: str = "",
    command: Sequence[str] = (sys.executable, "-m", "luaworker"),
    demotes: bool = False,
    rests: bool = False,
) -> AsyncIterator[Worker]:
    """A worker that has answered its self-test, stopped at the end whatever happens.

    No call is demoted unless the test asks for it: on a busy machine a demoted script gets no CPU at all, and the limit
    of wall time ends it. Children do not end at rest, because it is uncertain how soon a test counts processes.
    """
    command = [*command, "--listen", listen, *flags]
    if not demotes:
        command += ["--demote-after-ms", "600000"]
    if not rests:
        command += ["--rest-after", "0"]
    command += ["--metrics-bind-address", metrics, "--health-probe-bind-address", probes]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stderr=asyncio.subprocess.PIPE, env=dict(os.environ)
    )
    running = Worker(process, address or listen)
    try:
        await running.started()
        yield running
    finally:
        await running.stop()
