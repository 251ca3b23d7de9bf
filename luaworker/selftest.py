"""Proof, at every start of a zygote, that the locks of a child are closed; without it no script runs.

Invariant: fail closed. Each probe is a child that tries what must not work; a probe that comes back, or ends in
another way than expected, names the lock that is open.
"""

import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from luaworker.codes import Code
from luaworker.exchange import converse
from luaworker.spawn import Child
from luaworker.wire import Call, Limits, Task

_LIMITS = Limits(cpu_ms=20, wall_ms=2_000, memory_bytes=16 << 20, output_bytes=4096)
_SHORT_WALL = Limits(cpu_ms=1_000, wall_ms=20, memory_bytes=16 << 20, output_bytes=4096)
_MARGIN = 1.0
_CANARY = Call(
    Task.EXECUTE,
    Limits(cpu_ms=500, wall_ms=2_000, memory_bytes=16 << 20, output_bytes=4096),
    b"canary",
    b"obj.b = {} return obj",
    b'{"a":[]}',
)
_CANARY_RESULT = b'{"a":[],"b":{}}'

_PROBES = {
    "rlimit": (Task.PROBE_MEMORY, _LIMITS, Code.MEMORY_LIMIT, None),
    "cpu": (Task.PROBE_CPU, _LIMITS, Code.TIMEOUT, signal.SIGPROF),
    "wall": (Task.PROBE_WALL, _SHORT_WALL, Code.TIMEOUT, signal.SIGALRM),
    "seccomp": (Task.PROBE_SYSCALL, _LIMITS, Code.SANDBOX_VIOLATION, signal.SIGSYS),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which locks were proven, and what is wrong with the first that was not."""

    proven: tuple[str, ...]
    problem: str = ""


async def _probe(child: Child, name: str) -> str:
    """The problem with one lock, or nothing."""
    task, limits, expected, by = _PROBES[name]
    try:
        outcome = await converse(child, Call(task, limits, b"self-test"), _MARGIN)
        if outcome.code is not expected:
            return f"expected {expected.name}, got {outcome.code.name} {outcome.message}".strip()
        if by is None:
            return ""
        status = (await child.exited).status
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != by:
            return f"expected an end by {by.name}, got wait status {status}"
        return ""
    finally:
        child.discard()


async def prove(
    take_child: Callable[[], Awaitable[Child]], *, filtered: bool, complete: bool
) -> Verdict:
    """Runs the probes: all of them, or, where the machine is already known, only filter and canary."""
    names = [n for n in _PROBES if n != "seccomp"] if complete else []
    if filtered:
        names.append("seccomp")
    for name in names:
        problem = await _probe(await take_child(), name)
        if problem:
            return Verdict((), f"self-test of the sandbox failed ({name}): {problem}")
    child = await take_child()
    try:
        outcome = await converse(child, _CANARY, _MARGIN)
    finally:
        child.discard()
    if outcome.result != _CANARY_RESULT:
        text = f"the canary script gave {outcome.code.name} {outcome.message} {outcome.result!r}"
        return Verdict((), f"self-test of the sandbox failed: {text}")
    return Verdict(tuple(names))
