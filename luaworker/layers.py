"""The locks around a script, by name, so that a test can open one and check which attacks succeed.

Invariant: production has all of them. The command line can open only the system call filter, for a machine without
one; every open lock is logged at start. Only `Settings.without` carries the set, down to the zygote
and its children.
"""

from enum import StrEnum


class Layer(StrEnum):
    """One member for each lock, in the order in which a script meets them."""

    ALLOW_LIST = "allow-list"  # the script's globals contain no access to the outside
    BOUNDS = "bounds"  # library calls of the engine that crash or explode are checked first
    PYTHON_DOOR = "python-door"  # the engine's bridge refuses every attribute
    PROTECTED_CALL = "protected-call"  # every error is converted to a message
    COUNT_HOOK = "count-hook"  # CPU time, with the script's line
    CPU_TIMER = "cpu-timer"  # CPU time in calls that no hook interrupts: SIGPROF
    CPU_RLIMIT = "cpu-rlimit"  # the same, in whole seconds, if a timer failed: SIGXCPU
    WALL_TIMER = "wall-timer"  # time on the wall: SIGALRM
    WATCHDOG = "watchdog"  # the parent's SIGKILL by pidfd
    LUA_MEMORY = "lua-memory"  # memory that the engine may allocate
    ADDRESS_SPACE = "address-space"  # memory that the process may allocate
    FILE_RLIMITS = "file-rlimits"  # descriptors, file sizes, processes
    LANDLOCK = "landlock"  # no file, no TCP
    SECCOMP = "seccomp"  # no system calls except those that computing needs
    RESULT_CHECKS = (
        "result-checks"  # values that JSON cannot express, or that are too large, are not written
    )
    REPLY_CHECKS = "reply-checks"  # the parent trusts no length and no code of a child
    SINGLE_USE = "single-use"  # one process and one Lua state per call
    BREAKER = "breaker"  # a script that keeps failing is not run for a while
    TENANT_SHARE = "tenant-share"  # one tenant never has all places


def packed(layers: frozenset[Layer]) -> str:
    """For a command line; empty for none."""
    return ",".join(sorted(layers))


def unpacked(text: str) -> frozenset[Layer]:
    """The reverse of `packed`."""
    return frozenset(Layer(name) for name in text.split(",") if name)
