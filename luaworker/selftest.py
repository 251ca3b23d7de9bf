"""Proof that the locks of a child are closed; without it no script runs.

The first zygote of a worker is tried with every probe, each later one with that of the system call filter alone; both
also run a script that must give its known result.

Invariant: fail closed. Each probe is a child that tries a forbidden action; a probe that succeeds, or ends in
another way than expected, names the open lock.
"""

import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from luaworker.codes import Code
from luaworker.exchange import converse
from luaworker.layers import Layer
from luaworker.spawn import Child
from luaworker.wire import Call, Limits, Task

# The times are long: on a machine that starts everything at once, a probe may wait for seconds until it gets any CPU.
_LIMITS = Limits(cpu_ms=20, wall_ms=10_000, memory_bytes=16 << 20, output_bytes=4096)
_SHORT_WALL = Limits(cpu_ms=1_000, wall_ms=20, memory_bytes=16 << 20, output_bytes=4096)
_MARGIN = 1.0
_CANARY = Call(
    Task.EXECUTE,
    Limits(cpu_ms=500, wall_ms=10_000, memory_bytes=16 << 20, output_bytes=4096),
    b"canary",
    b"obj.b = {} return obj",
    b'{"a":[]}',
)
_CANARY_RESULT = b'{"a":[],"b":{}}'

_PROBES = {
    Layer.ADDRESS_SPACE: (Task.PROBE_MEMORY, _LIMITS, Code.MEMORY_LIMIT, None),
    Layer.CPU_TIMER: (Task.PROBE_CPU, _LIMITS, Code.TIMEOUT, signal.SIGPROF),
    Layer.WALL_TIMER: (Task.PROBE_WALL, _SHORT_WALL, Code.TIMEOUT, signal.SIGALRM),
    Layer.SECCOMP: (Task.PROBE_SYSCALL, _LIMITS, Code.SANDBOX_VIOLATION, signal.SIGSYS),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The locks that passed, and the problem of the first lock that did not."""

    proven: tuple[Layer, ...]
    problem: str = ""


async def _probe(child: Child, layer: Layer) -> str:
    """The problem with one lock, or nothing."""
    task, limits, expected, by = _PROBES[layer]
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
    take_child: Callable[[], Awaitable[Child]], *, without: frozenset[Layer], complete: bool
) -> Verdict:
    """Runs the probes: all of them, or only filter and canary if this machine was tested before."""
    layers = [
        layer for layer in _PROBES if layer not in without and (complete or layer is Layer.SECCOMP)
    ]
    for layer in layers:
        problem = await _probe(await take_child(), layer)
        if problem:
            return Verdict((), f"self-test of the sandbox failed ({layer}): {problem}")
    child = await take_child()
    try:
        outcome = await converse(child, _CANARY, _MARGIN)
    finally:
        child.discard()
    if outcome.result != _CANARY_RESULT:
        text = f"the canary script gave {outcome.code.name} {outcome.message} {outcome.result!r}"
        return Verdict((), f"self-test of the sandbox failed: {text}")
    return Verdict(tuple(layers))
