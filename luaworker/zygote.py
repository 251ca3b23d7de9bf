"""The zygote: a small clean process that forks children which already hold a prepared Lua state.

Why: the gRPC server has threads and must not fork; starting an interpreter per call costs fifteen milliseconds, a
fork one. Invariant: it is exec'd, imports almost nothing, runs one trusted warm-up script, and from then on never
reads a byte that a user wrote: it gets one-byte commands, and hands every child's channel and pidfd to the server.
It reaps all children and reports how they ended; when the server goes, it goes, and its children with it.
"""

import _socket
import array
import ctypes
import gc
import os
import select
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from luaworker import wire
from luaworker.child import Inherited, live, locks, rehearse
from luaworker.landlock import deny_all
from luaworker.layers import Layer, unpacked
from luaworker.sandbox import BACKEND, CompiledFiles
from luaworker.seccomp import Filter, forbid_new_privileges
from luaworker.timers import CpuTimer
from luaworker.wire import Call, Limits, Module, Task

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_WARM_UP = Call(
    Task.EXECUTE,
    Limits(1000, 10_000, 16 << 20, 4096),
    b"warm-up",
    b"local t = {} for k, v in pairs(obj) do t[k] = v end return t",
    b'{"a":[1,null,{}],"b":1e2}',
    modules=(Module(b"sums", b"return {}"),),
)
_REHEARSALS = 20
_OOM_SCORE = b"900"


def _own_memory() -> int:
    """Virtual size of this process in bytes."""
    with open("/proc/self/statm", "rb") as statm:
        return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _harden() -> None:
    """The kernel kills children first when memory runs out; no process may read this one's memory."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "wb") as score:
        score.write(_OOM_SCORE)
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _prepare(without: frozenset[Layer]) -> tuple[Inherited, int]:
    """Builds what children inherit, then gives up the file system; returns it with the Landlock version."""
    # A state is good for one script, so the warm-up (lazy symbols, caches) has one of its own.
    files, closed = CompiledFiles(without), locks(without)
    for _ in range(_REHEARSALS):
        rehearse(files, _WARM_UP, closed)
    forbid_new_privileges()
    filtered = Layer.SECCOMP not in without
    prepared = Inherited(
        files,
        files.build(stocked=True),
        Filter() if filtered else None,
        Filter(timers=True) if filtered else None,
        CpuTimer(),
        _own_memory(),
        os.getpid(),
        ctypes.CDLL(None).prctl,
        closed,
    )
    landlock = 0 if Layer.LANDLOCK in without else deny_all()
    gc.collect()
    gc.freeze()
    gc.disable()
    return prepared, landlock


def _fork(control: _socket.socket, prepared: Inherited) -> None:
    """Fork one child; the other end of its channel goes to the server."""
    ours, theirs = _socket.socketpair()
    try:
        pid = os.fork()
    except OSError as problem:
        control.send(wire.FORK_FAILED + str(problem).encode())
        pid = -1
    if pid == 0:
        live(theirs.fileno(), prepared)
    theirs.close()
    if pid > 0:
        _hand_over(control, pid, ours)
    ours.close()


def _hand_over(control: _socket.socket, pid: int, channel: _socket.socket) -> None:
    pidfd = os.pidfd_open(pid)
    try:
        descriptors = array.array("i", (channel.fileno(), pidfd))
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)
        control.sendmsg([wire.pack_born(pid)], [rights])
    finally:
        os.close(pidfd)


def _reap(control: _socket.socket) -> None:
    """Reports every child that ended since the last time."""
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        control.send(
            wire.pack_exited(
                wire.Exit(
                    pid,
                    status,
                    round(usage.ru_utime * 1e6),
                    round(usage.ru_stime * 1e6),
                    usage.ru_maxrss,
                )
            )
        )


def _serve(control: _socket.socket, prepared: Inherited) -> None:
    """Forks on command and reaps, until the server closes the control socket."""
    bell_read, bell_write = os.pipe()
    for descriptor in (bell_read, bell_write):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(bell_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(bell_read, select.POLLIN)
    while True:
        for descriptor, _event in poll.poll():
            if descriptor == bell_read:
                os.read(bell_read, 4096)
                _reap(control)
                continue
            commands = control.recv(64)
            if not commands:
                return
            for _ in commands:
                _fork(control, prepared)


def main(control_fd: int, without: str) -> NoReturn:
    """Prepares, reports that, and serves; ends with the server. `without` is the result of `layers.packed`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _harden()
    control = _socket.socket(fileno=control_fd)
    try:
        prepared, landlock = _prepare(unpacked(without))
    except Exception as problem:
        with suppress(OSError):
            control.send(wire.UNFIT + str(problem).encode()[:512])
        os._exit(1)
    with suppress(BrokenPipeError, ConnectionResetError):
        library = prepared.files.fingerprint
        control.send(wire.READY + f"{landlock} {BACKEND} {library}".encode())
        _serve(control, prepared)
    sys.stderr.flush()
    os._exit(0)
