"""The system call filter of a child: after it is on, a child can compute, read and write descriptor 3, and end.

Why without libseccomp: sixty instructions of BPF need no C dependency, and the zygote stays small. Invariant:
every call that is not listed kills the process (not the thread), also on foreign architectures and x32; there is no way
to make memory executable or to get a descriptor; only a worker that serves a packaged script again may set timers. The
program is built once, in the zygote; a child only switches it on.
"""

import ctypes
import os
import struct
from collections.abc import Callable
from typing import NamedTuple

_LD_ABS = 0x20
_JEQ, _JGE, _JSET, _RET = 0x15, 0x35, 0x45, 0x06
_KILL, _ALLOW = 0x80000000, 0x7FFF0000

_OFFSET_NR, _OFFSET_ARCH, _OFFSET_ARGS = 0, 4, 16

_PROT_EXEC = 0x4
_MAP_ANONYMOUS = 0x20
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_MODE_FILTER = 2
_X32_BIT = 0x40000000

CHANNEL = 3  # the only descriptor of a child


class Architecture(NamedTuple):
    """Numbers of one machine's system calls; `plain` are allowed with any arguments."""

    audit: int
    plain: tuple[int, ...]
    read: int
    write: int
    mmap: int
    timers: tuple[int, ...]  # setitimer, timer_settime


# plain: clock_gettime, brk, munmap, mremap, madvise, futex, getrandom, rt_sigreturn, restart_syscall, getpid, gettid,
# exit, exit_group
ARCHITECTURES = {
    "x86_64": Architecture(
        0xC000003E, (228, 12, 11, 25, 28, 202, 318, 15, 219, 39, 186, 60, 231), 0, 1, 9, (38, 223)
    ),
    "aarch64": Architecture(
        0xC00000B7,
        (113, 214, 215, 216, 233, 98, 278, 139, 128, 172, 178, 93, 94),
        63,
        64,
        222,
        (103, 110),
    ),
}


def _op(code: int, jump_true: int, jump_false: int, value: int) -> bytes:
    return struct.pack("<HBBI", code, jump_true, jump_false, value)


def _argument(index: int, *, high: bool = False) -> int:
    return _OFFSET_ARGS + 8 * index + (4 if high else 0)


def _when(number: int, block: list[bytes]) -> list[bytes]:
    """`block` decides about one system call, and always returns."""
    return [_op(_JEQ, 0, len(block), number), *block]


def _only_channel() -> list[bytes]:
    return [
        _op(_LD_ABS, 0, 0, _argument(0, high=True)),
        _op(_JEQ, 0, 3, 0),
        _op(_LD_ABS, 0, 0, _argument(0)),
        _op(_JEQ, 0, 1, CHANNEL),
        _op(_RET, 0, 0, _ALLOW),
        _op(_RET, 0, 0, _KILL),
    ]


def _only_anonymous_data() -> list[bytes]:
    return [
        _op(_LD_ABS, 0, 0, _argument(2)),
        _op(_JSET, 3, 0, _PROT_EXEC),
        _op(_LD_ABS, 0, 0, _argument(3)),
        _op(_JSET, 0, 1, _MAP_ANONYMOUS),
        _op(_RET, 0, 0, _ALLOW),
        _op(_RET, 0, 0, _KILL),
    ]


def assemble(machine: Architecture, *, timers: bool = False) -> bytes:
    """The whole program for one architecture; with `timers`, the process may set its timers again."""
    kill = _op(_RET, 0, 0, _KILL)
    program = [
        _op(_LD_ABS, 0, 0, _OFFSET_ARCH),
        _op(_JEQ, 1, 0, machine.audit),
        kill,
        _op(_LD_ABS, 0, 0, _OFFSET_NR),
        _op(_JGE, 0, 1, _X32_BIT),
        kill,
    ]
    for number in (*machine.plain, *(machine.timers if timers else ())):
        program += _when(number, [_op(_RET, 0, 0, _ALLOW)])
    program += _when(machine.write, _only_channel())
    program += _when(machine.read, _only_channel())
    program += _when(machine.mmap, _only_anonymous_data())
    program.append(kill)
    return b"".join(program)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _prctl_function() -> Callable[..., int]:
    call = ctypes.CDLL(None, use_errno=True).prctl
    call.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    return call


def _prctl(call: Callable[..., int], option: int, first: int, second: int = 0) -> None:
    if call(option, first, second, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")


def forbid_new_privileges() -> None:
    """The precondition of a filter for a process without rights; inherited by children."""
    _prctl(_prctl_function(), _PR_SET_NO_NEW_PRIVS, 1)


class Filter:
    """A filter ready to be switched on, in this process or in any it forks."""

    def __init__(self, machine: str | None = None, *, timers: bool = False) -> None:
        name = machine or os.uname().machine
        if name not in ARCHITECTURES:
            raise OSError(f"no system call filter for the architecture {name}")
        code = assemble(ARCHITECTURES[name], timers=timers)
        self._code = ctypes.create_string_buffer(code, len(code))
        self._program = _Program(len(code) // 8, ctypes.addressof(self._code))
        self._call = _prctl_function()
        self._address = ctypes.addressof(self._program)

    def switch_on(self) -> None:
        """Filter the calling process from now on; this cannot be undone."""
        _prctl(self._call, _PR_SET_SECCOMP, _MODE_FILTER, self._address)
