"""The life of a child: wait for a call, close every lock of the sandbox, run the script, answer, end.

Invariant: before it reads a byte of a call, the process has no file descriptor except its channel. Before the Lua
engine sees a byte of the script, the process may make no system call outside the filter, has a timer for CPU time and
one for wall time whose signals kill it, and has a memory limit; until then, it only cuts the call into its parts. A
child serves one call; its memory never contains data of another tenant. There is one exception, for which the server
asks with the first call: the child then serves several calls, all of one tenant and one packaged script, each in a new
Lua state. It runs in a copy of the zygote: import nothing here that was not imported before the fork.
"""

import _signal  # type: ignore[import-not-found] # it has no stubs, and only this file imports it
import _socket
import io
import math
import os
import resource
import signal
import time
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from luaworker.codes import Code
from luaworker.layers import Layer
from luaworker.sandbox import Answer, CompiledFiles, Sandbox
from luaworker.seccomp import CHANNEL, Filter
from luaworker.timers import CpuTimer, arm_clock
from luaworker.wire import FAILED, Call, Limits, Reply, Task, pack_call, pack_reply, read_call

_PR_SET_PDEATHSIG = 1
# Not the function of `signal`: it turns numbers into enumeration members, on pages that a child then copies.
_handle: Callable[[int, int], object] = _signal.signal
_SIGCHLD, _SIGKILL, _DEFAULT = int(signal.SIGCHLD), int(signal.SIGKILL), int(signal.SIG_DFL)
_MEMORY_SLACK = 32 * 1024 * 1024
_CARRIED_AT_MOST = 10 * 1024 * 1024


class Locks(NamedTuple):
    """The locks that a child closes itself: plain values, since an enumeration's members cost a child many pages."""

    file_rlimits: bool
    cpu_timer: bool
    wall_timer: bool
    cpu_rlimit: bool
    address_space: bool
    lua_memory: bool
    single_use: bool


def locks(without: frozenset[Layer]) -> Locks:
    """All locks except those that a test leaves open."""
    return Locks(
        Layer.FILE_RLIMITS not in without,
        Layer.CPU_TIMER not in without,
        Layer.WALL_TIMER not in without,
        Layer.CPU_RLIMIT not in without,
        Layer.ADDRESS_SPACE not in without,
        Layer.LUA_MEMORY not in without,
        Layer.SINGLE_USE not in without,
    )


class Inherited(NamedTuple):
    """The state that the zygote prepares once for all its children."""

    files: CompiledFiles
    sandbox: Sandbox
    lock: Filter | None
    lock_with_timers: Filter | None
    cpu_timer: CpuTimer
    base_memory: int  # virtual size of the zygote
    zygote: int  # the zygote's pid: a child checks that the zygote still lives
    prctl: Callable[..., int]
    locks: Locks


class Gone(Exception):
    """The server closed the channel: nothing to do any more."""


def _read_exactly(size: int) -> bytes:
    chunks = []
    while size:
        chunk = os.read(CHANNEL, min(size, 1 << 20))
        if not chunk:
            raise Gone
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def _write_all(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(CHANNEL, view) :]


def _forget_everything(channel: int, inherited: Inherited) -> None:
    """Drop the descriptors, signal handlers and rights that the fork copied."""
    signal.set_wakeup_fd(-1)
    _handle(_SIGCHLD, _DEFAULT)
    inherited.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if os.getppid() != inherited.zygote:
        os._exit(0)
    os.dup2(channel, CHANNEL)
    os.closerange(CHANNEL + 1, 1 << 20)
    for descriptor in range(CHANNEL):
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if inherited.locks.file_rlimits:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (CHANNEL + 1, CHANNEL + 1))


def _timer_seconds(limits: Limits) -> float:
    return limits.cpu_ms * 1.25 / 1000 + 0.02


def _arm(limits: Limits, inherited: Inherited) -> None:
    """Start the timers of one call. The engine's count hook ends a script earlier and names the line; the timers end
    code that the hook cannot interrupt."""
    if inherited.locks.cpu_timer:
        inherited.cpu_timer.arm(_timer_seconds(limits))
    if inherited.locks.wall_timer:
        arm_clock(limits.wall_ms / 1000)


def _disarm(inherited: Inherited) -> None:
    inherited.cpu_timer.arm(0)
    arm_clock(0)


def _bound(call: Call, inherited: Inherited) -> None:
    """Set the limits that stay for the life of the process; a child that serves again must be able to hold the
    largest object."""
    limits, closed = call.limits, inherited.locks
    if closed.cpu_rlimit and not call.again:
        seconds = math.ceil(_timer_seconds(limits))
        # At the hard limit the kernel sends SIGKILL, which another process could also send. So the soft limit is
        # reached first.
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    if closed.address_space:
        carried = 2 * (_CARRIED_AT_MOST if call.again else call.size)
        size = inherited.base_memory + limits.memory_bytes + carried + _MEMORY_SLACK
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _probe(task: Task) -> Answer:
    """A probe of the self-test that the sandbox has to stop. A return means that a lock is open."""
    if task is Task.PROBE_SYSCALL:
        _socket.socket()
    elif task is Task.PROBE_MEMORY:
        try:
            bytearray(1 << 32)
        except MemoryError:
            return Answer(Code.MEMORY_LIMIT)
    elif task is Task.PROBE_CPU:
        while True:
            pass
    elif task is Task.PROBE_WALL:
        # Read from a channel that gets no data: wall time passes, but no CPU time.
        _read_exactly(1)
    return Answer(Code.OK, b"{}")


def _answer(call: Call, sandbox: Sandbox) -> Answer:
    limits = call.limits
    if call.task is Task.EXECUTE:
        return sandbox.run(
            call.script,
            call.name,
            call.object_json,
            limits.cpu_ms,
            limits.output_bytes,
            call.modules,
        )
    if call.task is Task.VALIDATE:
        return sandbox.run(call.script, call.name, None, limits.cpu_ms, limits.output_bytes)
    return _probe(call.task)


def _work(call: Call, sandbox: Sandbox, closed: Locks) -> bytes:
    """Run one call and return its reply."""
    if closed.lua_memory:
        sandbox.limit_memory(call.limits.memory_bytes)
    started = time.process_time_ns()
    answer = _answer(call, sandbox)
    return pack_reply(
        Reply(
            code=answer.code,
            line=answer.line,
            cpu_us=(time.process_time_ns() - started) // 1000,
            memory=sandbox.memory,
            result=answer.result,
            message=answer.message,
            traceback=answer.traceback,
            path=answer.path,
            log=answer.log,
        )
    )


def _serve_once(call: Call, inherited: Inherited) -> None:
    """Timers are started before the filter is switched on; the filter then prevents changes of the timers."""
    inherited.cpu_timer.make()
    _arm(call.limits, inherited)
    _bound(call, inherited)
    if inherited.lock is not None:
        inherited.lock.switch_on()
    _write_all(_work(call, inherited.sandbox, inherited.locks))


def _serve_again(call: Call, inherited: Inherited) -> None:
    """Serve calls of one tenant and one packaged script, each in a Lua state of its own, until the server closes the
    channel."""
    inherited.cpu_timer.make()
    _bound(call, inherited)
    if inherited.lock_with_timers is not None:
        inherited.lock_with_timers.switch_on()
    sandbox = inherited.sandbox
    while True:
        _arm(call.limits, inherited)
        reply = _work(call, sandbox, inherited.locks)
        _disarm(inherited)
        _write_all(reply)
        if inherited.locks.single_use:
            sandbox = inherited.files.build()
        call = read_call(_read_exactly)


def rehearse(files: CompiledFiles, call: Call, closed: Locks) -> None:
    """The part of a child's work that its zygote can do beforehand, over a call that we trust.

    CPython specialises bytecode while it runs, which writes to memory. Bytecode that is specialised before the fork
    stays on shared pages.
    """
    whole = io.BytesIO(pack_call(call))
    _work(read_call(whole.read), files.build(), closed)


def live(channel: int, inherited: Inherited) -> NoReturn:
    """Everything that a child does; never returns into the zygote's code."""
    status = FAILED
    try:
        _forget_everything(channel, inherited)
        call = read_call(_read_exactly)
        (_serve_again if call.again else _serve_once)(call, inherited)
        status = 0
    except (Gone, BrokenPipeError, ConnectionResetError):
        status = 0
    except BaseException:
        status = FAILED
    finally:
        os._exit(status)
