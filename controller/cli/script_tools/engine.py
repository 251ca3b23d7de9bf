"""A private script worker: the production program on a private socket, while a command runs.

Invariant: the worker is started as a process of its own (nothing here imports it) and ends with the block,
also if this process is killed. Every call gets a tenant of its own, so that the worker's circuit
breaker, which is about a service under load, never hides the outcome of a later step.
"""

import asyncio
import itertools
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import msgspec

import controller
from controller.errors import WorkerUnavailable
from controller.scripts.lookup import Script
from controller.scripts.script_outcome import ScriptAnswer
from controller.scripts.worker_client import ScriptClient

START_SECONDS = 30.0
STOP_SECONDS = 15.0
CALL_SECONDS = 30.0
"""Longer than the controller waits: nothing but this command waits here, perhaps on a busy machine."""
_ROOT = Path(controller.__file__).resolve().parent.parent
_STARTED = ("serving", "listening, not ready")


class Execution(msgspec.Struct, frozen=True):
    """One call: the script, its input, and its result."""

    script: Script
    obj: bytes
    answer: ScriptAnswer


class Engine:
    """Runs and compiles scripts in private workers, in turn. Implements the controller's `ScriptRunner`."""

    def __init__(self, *clients: ScriptClient) -> None:
        self._clients = clients
        self._calls = itertools.count(1)

    async def execute(
        self, script: Script, obj: bytes, *, tenant: str, request_id: str
    ) -> ScriptAnswer:
        """Run one call. Raises WorkerUnavailable."""
        number = next(self._calls)
        client = self._clients[number % len(self._clients)]
        unique = f"{tenant}-{number}"
        return await client.execute(script, obj, tenant=unique, request_id=request_id)

    async def validate(self, script: Script) -> ScriptAnswer:
        """Whether the script compiles. Raises WorkerUnavailable."""
        return await self._clients[0].validate(script, tenant="validate", request_id="validate")


class Recorder:
    """Passes calls on and remembers them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.executions: list[Execution] = []

    async def execute(
        self, script: Script, obj: bytes, *, tenant: str, request_id: str
    ) -> ScriptAnswer:
        """Run one call, and remember it."""
        answer = await self._engine.execute(script, obj, tenant=tenant, request_id=request_id)
        self.executions.append(Execution(script, obj, answer))
        return answer


def worker_command(address: str, *, filtered: bool) -> list[str]:
    """The command line of a worker that serves one person."""
    # Not from the working directory (-P): it is anybody's.
    command = [sys.executable, "-P", "-m", "luaworker", "--listen", address]
    command += ["--metrics-bind-address", "0", "--health-probe-bind-address", "0"]
    command += ["--parent", str(os.getpid())]  # a command that is killed leaves no worker behind
    return command if filtered else [*command, "--insecure-no-seccomp"]


@asynccontextmanager
async def private_worker(*, filtered: bool = True, workers: int = 1) -> AsyncIterator[Engine]:
    """A private worker. Raises WorkerUnavailable if it cannot be started.

    Two workers take calls in turn. An answer that depends on addresses in memory (the order of tables that are keys)
    is the same within one worker and differs in the next, so a script that is not deterministic is noticed.
    """
    async with AsyncExitStack() as running:
        clients = [
            await running.enter_async_context(_client(filtered=filtered)) for _ in range(workers)
        ]
        yield Engine(*clients)


@asynccontextmanager
async def _client(*, filtered: bool) -> AsyncIterator[ScriptClient]:
    with tempfile.TemporaryDirectory(prefix="moonshift-") as folder:
        address = f"unix://{folder}/w"
        paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        process = await asyncio.create_subprocess_exec(
            *worker_command(address, filtered=filtered),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        log = _Log(process)
        try:
            await log.started()
            client = ScriptClient(address, deadline=CALL_SECONDS)
            try:
                yield client
            finally:
                await client.close()
        finally:
            await _end(process)
            await log.close()


class _Log:
    """The worker's standard error: kept for messages, and read so that the pipe never fills."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._last = ""
        self._started: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stderr is not None
        async for raw in self._process.stderr:
            line = raw.decode(errors="replace").rstrip()
            message, problem = _message(line)
            self._last = problem or self._last or line
            if message in _STARTED and not self._started.done():
                self._started.set_result(message == _STARTED[0])
        if not self._started.done():
            self._started.set_result(False)

    async def started(self) -> None:
        """Returns when scripts can be run. Raises WorkerUnavailable when they never will."""
        try:
            async with asyncio.timeout(START_SECONDS):
                ready = await asyncio.shield(self._started)
        except TimeoutError:
            raise WorkerUnavailable(
                f"the script worker did not start within {START_SECONDS:g} s: {self._last}"
            ) from None
        if not ready:
            raise WorkerUnavailable(
                f"the script worker cannot run scripts here: {self._last or 'it ended'}; "
                "on a machine without system call filters use --insecure-no-seccomp, for scripts you trust"
            )

    async def close(self) -> None:
        """Read the pipe to its end, when the process has ended."""
        await self._reading


def _message(line: str) -> tuple[str, str]:
    """A line of the worker's log: its message, and the problem it names."""
    try:
        entry = json.loads(line)
    except ValueError:
        return "", ""
    if not isinstance(entry, dict):
        return "", ""
    return str(entry.get("msg", "")), str(entry.get("problem", ""))


async def _end(process: asyncio.subprocess.Process) -> None:
    """Stop the worker; kill it if it does not stop."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
