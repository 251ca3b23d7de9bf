"""The outcome of one call, from the child's reply, or from the way the child ended.

Invariant: every wait status has a result. A status that no script can cause (a kill by a stranger, our own failure)
is not an outcome: it says nothing about the script, and the caller gets `BrokenChild`.
"""

import os
import signal
from dataclasses import dataclass

from luaworker.codes import Code
from luaworker.errors import BrokenChild
from luaworker.wire import FAILED, Exit, Limits, Reply


@dataclass(frozen=True, slots=True)
class Outcome:
    """One call's result; if the child was stopped, `reason` is a short word for logs and metrics."""

    code: Code
    result: bytes = b""
    message: str = ""
    traceback: str = ""
    line: int = 0
    json_path: str = ""
    log: tuple[str, ...] = ()
    cpu_ms: float = 0.0
    memory: int = 0
    reason: str = ""


def of_reply(reply: Reply, limits: Limits) -> Outcome:
    """The child's reply as an outcome; invalid UTF-8 in texts is replaced, and no figure is larger than it can be: the
    sums of the metrics would be useless for ever."""
    try:
        code = Code(reply.code)
    except ValueError:
        raise BrokenChild("a child answered with an unknown code") from None
    printed = tuple(_text(reply.log).split("\0")) if reply.log else ()
    return Outcome(
        code,
        reply.result if code is Code.OK else b"",
        _text(reply.message),
        _text(reply.traceback),
        reply.line,
        _text(reply.path),
        printed,
        min(reply.cpu_us / 1000, 2.0 * limits.wall_ms),
        min(reply.memory, 2 * limits.memory_bytes),
    )


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


_SIGNALS = {
    signal.SIGPROF: (
        Code.TIMEOUT,
        "cpu",
        "CPU limit of {cpu} ms exceeded inside a library call, which cannot name a line",
    ),
    signal.SIGXCPU: (Code.TIMEOUT, "cpu", "CPU limit of {cpu} ms exceeded"),
    signal.SIGALRM: (Code.TIMEOUT, "wall", "time limit of {wall} ms exceeded"),
    signal.SIGSYS: (
        Code.SANDBOX_VIOLATION,
        "violation",
        "the script's process tried a forbidden system call, or damaged its memory, and was killed",
    ),
    signal.SIGSEGV: (Code.CRASHED, "crash", "the script's process crashed (SIGSEGV)"),
    signal.SIGBUS: (Code.CRASHED, "crash", "the script's process crashed (SIGBUS)"),
    signal.SIGABRT: (Code.CRASHED, "crash", "the script's process crashed (SIGABRT)"),
    signal.SIGILL: (Code.CRASHED, "crash", "the script's process crashed (SIGILL)"),
    signal.SIGFPE: (Code.CRASHED, "crash", "the script's process crashed (SIGFPE)"),
}
_PANIC = 1  # the engine's unprotected "not enough memory" ends the process in this way


def of_exit(report: Exit, limits: Limits, name: str, killed_for: str) -> Outcome:
    """The outcome of a call whose child ended without an answer."""
    cpu_ms = (report.user_us + report.system_us) / 1000
    if killed_for == "wall":
        text = f"{name}: time limit of {limits.wall_ms} ms exceeded, and its own timer did not fire"
        return Outcome(Code.TIMEOUT, message=text, cpu_ms=cpu_ms, reason="native")
    if os.WIFSIGNALED(report.status):
        number = os.WTERMSIG(report.status)
        if number in _SIGNALS:
            code, reason, text = _SIGNALS[signal.Signals(number)]
            text = text.format(cpu=limits.cpu_ms, wall=limits.wall_ms)
            return Outcome(code, message=f"{name}: {text}", cpu_ms=cpu_ms, reason=reason)
        if killed_for == "garbled":
            text = f"{name}: the script's process broke its protocol"
            return Outcome(Code.CRASHED, message=text, cpu_ms=cpu_ms, reason="garbled")
        raise BrokenChild(f"the script's process was killed by signal {number} from outside")
    if os.WEXITSTATUS(report.status) == _PANIC:
        text = f"{name}: memory limit exceeded"
        return Outcome(Code.MEMORY_LIMIT, message=text, cpu_ms=cpu_ms, reason="memory")
    detail = " in the worker's own code" if os.WEXITSTATUS(report.status) == FAILED else ""
    raise BrokenChild(
        f"the script's process ended with status {os.WEXITSTATUS(report.status)}{detail}"
    )
