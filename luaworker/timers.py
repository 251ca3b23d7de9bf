"""The timers that end a child: one on its CPU time, one on the clock. Their signals have no handler, so they kill.

Why not ITIMER_PROF for CPU time: the kernel charges whole ticks to the process that runs at the tick, which
on a busy machine is wrong by tens of milliseconds. A POSIX timer on the process' CPU clock is exact to one tick.
Invariant: made in the child, since timers are not inherited; set again for each call.
"""

import ctypes
import os
import signal
import struct

_SYSTEM_CALLS = {"x86_64": (222, 223), "aarch64": (107, 110)}  # timer_create, timer_settime
_CLOCK_PROCESS_CPUTIME_ID = 2
_SIGEV_SIGNAL = 0
_SIGEVENT_BYTES = 64
_ITIMERSPEC = struct.Struct("<qqqq")


class CpuTimer:
    """Sends SIGPROF when the process has used a given CPU time. Prepared in the zygote, created in the child."""

    def __init__(self) -> None:
        machine = os.uname().machine
        if machine not in _SYSTEM_CALLS:
            raise OSError(f"no CPU timer for the architecture {machine}")
        self._create, self._settime = _SYSTEM_CALLS[machine]
        self._syscall = ctypes.CDLL(None, use_errno=True).syscall
        self._syscall.argtypes = [ctypes.c_long] * 5
        event = struct.pack("<qii", 0, signal.SIGPROF, _SIGEV_SIGNAL)
        self._event = ctypes.create_string_buffer(event, _SIGEVENT_BYTES)
        self._id = ctypes.c_int()
        # Created once for all children: creating it in a child would create a ctypes type, which writes to dozens of
        # shared pages.
        self._spec = ctypes.create_string_buffer(_ITIMERSPEC.size)
        self._spec_address = ctypes.addressof(self._spec)
        self._made_at = ctypes.addressof(self._event), ctypes.addressof(self._id)

    def make(self) -> None:
        """Once in the life of a child."""
        self._call(self._create, _CLOCK_PROCESS_CPUTIME_ID, *self._made_at, 0)

    def arm(self, seconds: float) -> None:
        """Send the signal after this additional CPU time; never with 0."""
        whole = int(seconds)
        _ITIMERSPEC.pack_into(self._spec, 0, 0, 0, whole, int((seconds - whole) * 1e9))
        self._call(self._settime, self._id.value, 0, self._spec_address, 0)

    def _call(self, number: int, *arguments: int) -> None:
        if self._syscall(number, *arguments) != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"CPU timer: {os.strerror(code)}")


def arm_clock(seconds: float) -> None:
    """Send SIGALRM after this time on the clock; never with 0."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
