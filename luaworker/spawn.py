"""The server's side of a zygote: starts it, asks for children, and receives the reports of their ends.

Invariant: every child that was announced has a `Child` whose `exited` will be resolved, by the zygote's report or
by the zygote's end, whichever comes first; the announcement always precedes the report on the control socket, so no
report is ever without its child. Descriptors received are owned by the `Child` and closed by it, once.
"""

import asyncio
import importlib.util
import logging
import math
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from luaworker import wire
from luaworker.errors import NotReady
from luaworker.layers import Layer, packed

_log = logging.getLogger(__name__)
_BOOT = (
    "import sys; sys.path.extend(sys.argv[1:3]); "
    "from luaworker.zygote import main; main(int(sys.argv[3]), sys.argv[4])"
)
_START_SECONDS = 10.0
_STUCK_SECONDS = 10.0
_PROCESS_CLOCK = 2  # the kernel's id for the CPU clock of the process with the pid above it
_DATAGRAM = 1024
_BORN_DESCRIPTORS = 2  # the channel and the pidfd of a child
_YIELDING = 10  # nice value: a tenth of the CPU weight of a process without it


class Child:
    """One forked process that waits for its one call."""

    def __init__(
        self,
        pid: int,
        channel: socket.socket,
        pidfd: int,
        exited: asyncio.Future[wire.Exit],
        spawn_seconds: float = 0.0,
        zygote: int = 0,
        library: int = 0,
    ) -> None:
        self.pid = pid
        self.zygote = zygote
        self.library = library
        self.spawn_seconds = spawn_seconds
        self.served = 0
        self.demoted = False
        self.channel = channel
        self.exited = exited
        self.killed_for = ""
        self._pidfd = pidfd
        channel.setblocking(False)

    @property
    def alive(self) -> bool:
        """Asks the kernel: the zygote's report may still be on its way."""
        if self.exited.done() or self._pidfd < 0:
            return False
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return not poll.poll(0)

    def kill(self, reason: str = "") -> None:
        """Ends the process at once. A reason means that it had not finished."""
        if reason and not self.killed_for:
            self.killed_for = reason
        if self._pidfd >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def yield_most(self) -> None:
        """Reduce the child's share of a core from now on. This cannot be undone, so it is for children that serve
        only once."""
        with suppress(OSError):
            own = os.getpriority(os.PRIO_PROCESS, 0)
            os.setpriority(os.PRIO_PROCESS, self.pid, min(own + _YIELDING, 19))

    def demote(self) -> bool:
        """Give the child the lowest priority. Returns whether the child still existed."""
        if self.exited.done():
            return False
        self.demoted = True
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.pid, 19)
            # Below the lowest priority: any other process that wakes up runs at once, not at the end of a time slice.
            os.sched_setscheduler(self.pid, os.SCHED_IDLE, os.sched_param(0))
            return True
        return False

    @property
    def cpu_seconds(self) -> float:
        """CPU time that the process has used; infinite if the process is gone."""
        try:
            return time.clock_gettime(~self.pid << 3 | _PROCESS_CLOCK)
        except OSError:
            return math.inf

    def discard(self) -> None:
        """Kills and forgets; safe to repeat."""
        self.kill()
        self.channel.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1


def _import_roots() -> list[str]:
    """The folders in which the zygote's interpreter finds this package and lupa, without the rest of site-packages."""
    package = Path(__file__).resolve().parent.parent
    lupa = importlib.util.find_spec("lupa")
    if lupa is None or not lupa.submodule_search_locations:
        raise NotReady("the package lupa is not installed")
    return [str(package), str(Path(lupa.submodule_search_locations[0]).parent)]


class Zygote:
    """A running zygote process."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        control: socket.socket,
        on_child: Callable[["Zygote", Child], None],
        on_end: Callable[["Zygote"], None],
    ) -> None:
        self.backend = ""
        self.landlock = 0
        self.library = 0  # fingerprint of the modules that its children know
        self.forks = 0
        # When each child that is still to come was asked for.
        self._asked: deque[float] = deque()
        self.retiring = False
        self._process = process
        self._control = control
        self._on_child = on_child
        self._on_end = on_end
        self._children: dict[int, Child] = {}
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._ended = False
        self._loop.add_reader(control, self._readable)

    @classmethod
    async def start(
        cls,
        *,
        without: frozenset[Layer] = frozenset(),
        on_child: Callable[["Zygote", Child], None],
        on_end: Callable[["Zygote"], None],
    ) -> "Zygote":
        """Executes a clean interpreter and waits until it can fork."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-I", "-S", "-c", _BOOT, *_import_roots()]
            process = subprocess.Popen(  # noqa: ASYNC220 - returns after the exec, a millisecond
                [*command, str(theirs.fileno()), packed(without)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={},
                # No new session: the kernel may divide CPU among sessions instead of processes, and then a priority
                # would have no effect.
                process_group=0,
            )
        ours.setblocking(False)
        zygote = cls(process, ours, on_child, on_end)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await zygote._ready
        except TimeoutError:
            raise NotReady(f"the zygote did not answer within {_START_SECONDS:g} s") from None
        finally:
            if not zygote.backend:
                zygote.end()
        return zygote

    @property
    def pid(self) -> int:
        """Process id of the zygote."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Commands can still be sent."""
        return not self._ended

    @property
    def pending(self) -> int:
        """Children that were asked for and have not come yet."""
        return len(self._asked)

    @property
    def stuck(self) -> bool:
        """Whether the process has not answered a request for too long."""
        return bool(self._asked) and time.monotonic() - self._asked[0] > _STUCK_SECONDS

    @property
    def children(self) -> int:
        """Children that were announced and have not been reported dead."""
        return len(self._children)

    def fork(self, count: int) -> None:
        """Asks for children; they arrive through `on_child`."""
        if self._ended or count <= 0:
            return
        for _ in range(count):
            try:
                self._control.send(wire.FORK)
            except (BlockingIOError, BrokenPipeError, ConnectionResetError):
                return
            self._asked.append(time.monotonic())
            self.forks += 1

    def end(self) -> None:
        """Kills the zygote; the kernel kills its children. Every wait on a child is resolved."""
        if self._ended:
            return
        self._ended = True
        self._loop.remove_reader(self._control)
        self._control.close()
        self._process.kill()
        self._process.wait()
        self._fail_start("the zygote ended while it started")
        for child in list(self._children.values()):
            # Its channel may still contain a complete answer: the caller reads and closes the socket.
            child.kill("the zygote ended")
            if not child.exited.done():
                child.exited.set_result(wire.Exit(child.pid, signal.SIGKILL, 0, 0, 0))
        self._children.clear()
        self._on_end(self)

    def _lose(self, pid: int, descriptors: list[int]) -> None:
        """A child came without its descriptors: this process may have no more. The child ends with its channel."""
        for descriptor in descriptors:
            os.close(descriptor)
        _log.error("child lost", extra={"pid": pid, "problem": "too many open files"})

    def _fail_start(self, problem: str) -> None:
        if not self._ready.done():
            self._ready.set_exception(NotReady(problem))
            self._ready.exception()  # read here, in case no caller waits any more

    def _readable(self) -> None:
        """Takes all datagrams that are there."""
        while not self._ended:
            try:
                datagram, descriptors, _flags, _address = socket.recv_fds(
                    self._control, _DATAGRAM, 2
                )
            except BlockingIOError:
                return
            except OSError:
                datagram, descriptors = b"", []
            if not datagram:
                self.end()
                return
            self._take(datagram, descriptors)

    def _take(self, datagram: bytes, descriptors: list[int]) -> None:
        kind = datagram[:1]
        if kind == wire.READY:
            landlock, self.backend, library = datagram[1:].decode().split(" ")
            self.landlock, self.library = int(landlock), int(library)
            if not self._ready.done():
                self._ready.set_result(None)
        elif kind == wire.BORN:
            asked = self._asked.popleft()
            if len(descriptors) != _BORN_DESCRIPTORS:
                self._lose(wire.unpack_born(datagram), descriptors)
                return
            channel, pidfd = descriptors
            child = Child(
                wire.unpack_born(datagram),
                socket.socket(fileno=channel),
                pidfd,
                self._loop.create_future(),
                time.monotonic() - asked,
                self.pid,
                self.library,
            )
            self._children[child.pid] = child
            self._on_child(self, child)
        elif kind == wire.EXITED:
            report = wire.unpack_exited(datagram)
            gone = self._children.pop(report.pid, None)
            if gone is not None and not gone.exited.done():
                gone.exited.set_result(report)
        elif kind == wire.UNFIT:
            self._fail_start(datagram[1:].decode("utf-8", "replace"))
        elif kind == wire.FORK_FAILED:
            self._asked.popleft()
            _log.error("fork failed", extra={"problem": datagram[1:].decode("utf-8", "replace")})
