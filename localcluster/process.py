"""One component as an operating system process.

Why it exists: fault tests kill, freeze and restart single components. Invariant: only the very process that was started
is ever signalled (a pidfd is held, so a reused pid cannot be hit), its output goes to one log file, and a tied process
dies with its starter. It must not know what the component does: readiness is a function it is given.
"""

import asyncio
import os
import select
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.errors import ComponentExited, NotReady
from localcluster.usage import ResourceUse, start_time, stat_fields, usage

LAUNCHER = Path(__file__).with_name("launch.py")
POLL_SECONDS = 0.03
GONE_SECONDS = 60.0
LOG_TAIL_BYTES = 3000

ReadyCheck = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Program:
    """A program to run: `tied` programs die with the starter, others live in a session of their own.

    `environment` comes on top of the starter's.
    """

    name: str
    command: Sequence[str]
    log: Path
    tied: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)


class Component:
    """A running (or ended) program; all its controls return when they have taken effect."""

    def __init__(self, program: Program, is_ready: ReadyCheck, ready_seconds: float) -> None:
        self.program = program
        self._is_ready = is_ready
        self._ready_seconds = ready_seconds
        self._pidfd: int | None = None
        self.on_spawn: Callable[[], None] = lambda: None
        self.pid = 0
        self.started_at: int | None = None

    @property
    def name(self) -> str:
        """The component's name."""
        return self.program.name

    @property
    def running(self) -> bool:
        """Whether the process is there (a frozen one is)."""
        if self._pidfd is None:
            return False
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return not poll.poll(0)

    def spawn(self) -> None:
        """Start the process without waiting for its readiness."""
        if self.running:
            raise RuntimeError(f"{self.name} runs already")
        self._close()
        self.program.log.parent.mkdir(parents=True, exist_ok=True)
        self.pid = self._run()
        self._pidfd = os.pidfd_open(self.pid)
        self.started_at = start_time(self.pid)
        self.on_spawn()

    def _run(self) -> int:
        """The process id of the program, begun."""
        command = list(self.program.command)
        if self.program.tied:
            parent = str(os.getpid())
            command = [sys.executable, "-I", "-S", str(LAUNCHER), parent, *command]
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        return os.posix_spawn(
            command[0],
            command,
            {**os.environ, **self.program.environment},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(self.program.log), flags, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )

    def adopt(self, pid: int, started_at: int | None) -> None:
        """Take over a process that another program started; a reused pid is not taken."""
        self.pid, self.started_at = pid, started_at
        try:
            self._pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        if started_at is None or start_time(pid) != started_at:
            self._close()

    async def wait_ready(self) -> None:
        """Return when the component is ready.

        Raises:
            ComponentExited: it ended instead.
            NotReady: it took too long.
        """
        try:
            async with asyncio.timeout(self._ready_seconds):
                while not await self._is_ready():
                    if not self.running:
                        raise ComponentExited(f"{self.name} ended at its start\n{self.log_tail()}")
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError as error:
            raise NotReady(
                f"{self.name} is not ready after {self._ready_seconds} s\n{self.log_tail()}"
            ) from error

    async def start(self) -> None:
        """Start the process and wait until it is ready."""
        self.spawn()
        await self.wait_ready()

    async def kill(self) -> None:
        """End the process at once (SIGKILL)."""
        await self._end(signal.SIGKILL, GONE_SECONDS)

    async def terminate(self, seconds: float = GONE_SECONDS) -> None:
        """Ask the process to end (SIGTERM); after `seconds` end it."""
        try:
            await self._end(signal.SIGTERM, seconds)
        except NotReady:
            await self.kill()

    async def restart(self) -> None:
        """Kill the process, start it again with the same command line and wait until it is ready."""
        await self.kill()
        await self.start()

    async def stop(self) -> None:
        """Freeze the process (SIGSTOP)."""
        self._signal(signal.SIGSTOP)
        while self.running and stat_fields(self.pid)[:1] not in (["T"], ["t"]):  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    async def cont(self) -> None:
        """Continue a frozen process (SIGCONT)."""
        self._signal(signal.SIGCONT)

    async def ended(self) -> None:
        """Return when the process has ended; one task at a time may wait."""
        if self._pidfd is None:
            return
        loop = asyncio.get_running_loop()
        gone = asyncio.Event()
        loop.add_reader(self._pidfd, gone.set)
        try:
            await gone.wait()
        finally:
            loop.remove_reader(self._pidfd)

    async def keep_running(self) -> None:
        """Start the process again whenever it has ended, until cancelled, as a kubelet does."""
        while True:
            await self.ended()
            await self.start()

    def resource_use(self) -> ResourceUse:
        """Return what the process uses now."""
        return usage(self.pid) if self.running else ResourceUse()

    def log_tail(self) -> str:
        """Return the end of the log."""
        try:
            return self.program.log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")
        except OSError:
            return ""

    def _signal(self, number: signal.Signals) -> None:
        if self._pidfd is not None:
            try:
                signal.pidfd_send_signal(self._pidfd, number)
            except ProcessLookupError:
                return

    async def _end(self, number: signal.Signals, seconds: float) -> None:
        if self._pidfd is None:
            return
        self._signal(number)
        try:
            async with asyncio.timeout(seconds):
                await self.ended()
        except TimeoutError as error:
            raise NotReady(
                f"{self.name} did not end within {seconds} s of {number.name}"
            ) from error
        self._close()

    def _close(self) -> None:
        if self._pidfd is None:
            return
        os.close(self._pidfd)
        self._pidfd = None
        try:
            os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return
