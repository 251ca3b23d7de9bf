"""The life of a child: wait for one call, lock every door, run it, answer, end.

Invariant: between the first byte of the script that is looked at and the end of the process there is no descriptor
but the channel, no right to any system call outside the filter, a timer for CPU and one for wall time whose signals
kill, and a bound on memory. A child serves one call; nobody else's data is ever in its memory. It runs in the
zygote's copy: import nothing here that was not imported before the fork.
"""

import _socket
import os
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from luaworker.codes import Code
from luaworker.sandbox import Answer, Sandbox
from luaworker.seccomp import CHANNEL, Filter
from luaworker.wire import FAILED, Call, Reply, Task, pack_reply, read_call

_PR_SET_PDEATHSIG = 1
_MEMORY_SLACK = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Inherited:
    """What the zygote made ready, once, for all its children."""

    sandbox: Sandbox
    lock: Filter | None
    base_memory: int  # virtual size of the zygote
    zygote: int  # its pid, by which a child knows whether it still lives
    prctl: Callable[..., int]


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
    """Descriptors, signals and rights that came with the fork."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    inherited.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != inherited.zygote:
        os._exit(0)
    os.dup2(channel, CHANNEL)
    os.closerange(CHANNEL + 1, 1 << 20)
    for descriptor in range(CHANNEL):
        os.close(descriptor)
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
        resource.setrlimit(limit, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (CHANNEL + 1, CHANNEL + 1))


def _lock(call: Call, inherited: Inherited) -> None:
    """Timers, memory bounds and, last, the filter: nothing of this can be undone afterwards."""
    limits = call.limits
    # The count hook speaks first, with a line; the timer is for code it cannot interrupt.
    signal.setitimer(signal.ITIMER_PROF, limits.cpu_ms * 1.25 / 1000 + 0.02)
    signal.setitimer(signal.ITIMER_REAL, limits.wall_ms / 1000)
    seconds = limits.cpu_ms // 1000 + 2
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    carried = 2 * (len(call.script) + len(call.object_json))
    address_space = inherited.base_memory + limits.memory_bytes + carried + _MEMORY_SLACK
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    inherited.sandbox.limit_memory(limits.memory_bytes)
    if inherited.lock is not None:
        inherited.lock.switch_on()


def _probe(task: Task) -> Answer:
    """What the self-test asks for: to be stopped. Coming back means that a lock is open."""
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
        # A read of a channel on which nothing comes: time passes, CPU does not.
        _read_exactly(1)
    return Answer(Code.OK, b"{}")


def _answer(call: Call, sandbox: Sandbox) -> Answer:
    limits = call.limits
    if call.task is Task.EXECUTE:
        return sandbox.run(
            call.script, call.name, call.object_json, limits.cpu_ms, limits.output_bytes
        )
    if call.task is Task.VALIDATE:
        return sandbox.run(call.script, call.name, None, limits.cpu_ms, limits.output_bytes)
    return _probe(call.task)


def _serve(inherited: Inherited) -> None:
    call = read_call(_read_exactly)
    _lock(call, inherited)
    sandbox = inherited.sandbox
    started = time.process_time_ns()
    answer = _answer(call, sandbox)
    reply = Reply(
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
    _write_all(pack_reply(reply))


def live(channel: int, inherited: Inherited) -> NoReturn:
    """Everything a child does; never returns into the zygote's code."""
    status = FAILED
    try:
        _forget_everything(channel, inherited)
        _serve(inherited)
        status = 0
    except (Gone, BrokenPipeError):
        status = 0
    except BaseException:
        status = FAILED
    finally:
        os._exit(status)
