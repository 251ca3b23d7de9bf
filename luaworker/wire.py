"""The protocol between server, zygote and children, byte for byte.

Invariant: a length that comes from a child is checked against what that child may send before anything is read;
nothing is ever unpickled or evaluated. The zygote loads this module, too, so it imports little, and above all no
dataclasses.
"""

import struct
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NamedTuple

MESSAGE_BYTES = 4096
TRACEBACK_BYTES = 2048
PATH_BYTES = 512
LOG_BYTES = 9 * 1024
FAILED = 70  # exit status of a child that failed in our own code

_REQUEST_MAGIC = b"msq3"
_REPLY_MAGIC = b"msr1"
_REQUEST = struct.Struct("<4sB?IIQIHIII")
_MODULE = struct.Struct("<HI??")
_REPLY = struct.Struct("<4sBIQQIIIII")

REQUEST_HEADER = _REQUEST.size
REPLY_HEADER = _REPLY.size


class Task(IntEnum):
    """The tasks of a child; probes belong to the self-test."""

    EXECUTE = 0
    VALIDATE = 1
    PROBE_SYSCALL = 2
    PROBE_CPU = 3
    PROBE_WALL = 4
    PROBE_MEMORY = 5


_TASKS = tuple(Task)


class Limits(NamedTuple):
    """Bounds of one call. `cpu_ms` is the limit inside the engine; the kernel's timers stop scripts that escape it."""

    cpu_ms: int
    wall_ms: int
    memory_bytes: int
    output_bytes: int


class Module(NamedTuple):
    """A part of the script library that travels with a call."""

    name: bytes
    text: bytes
    hidden: bool = False  # only other modules see it
    digest: bytes = b""  # SHA-256 of the text, if the server needs it
    ours: bool = False  # the text is that of our own library


class Call(NamedTuple):
    """One request to one child."""

    task: Task
    limits: Limits
    name: bytes = b""
    script: bytes = b""
    object_json: bytes = b""
    again: bool = False  # the child serves further calls of this tenant and script
    modules: tuple[Module, ...] = ()

    @property
    def size(self) -> int:
        """Bytes that the call brings along."""
        texts = sum(len(module.text) for module in self.modules)
        return len(self.script) + len(self.object_json) + texts


class Reply(NamedTuple):
    """A child's answer. Every field comes from the script's process and is not trusted."""

    code: int
    line: int
    cpu_us: int
    memory: int
    result: bytes
    message: bytes
    traceback: bytes
    path: bytes
    log: bytes


class Garbled(Exception):
    """The peer's bytes are not of this protocol, or announce more than is allowed."""


def _module_parts(module: Module, knows_library: bool) -> tuple[bytes, bytes, bytes]:
    by_name = knows_library and module.ours
    text = b"" if by_name else module.text
    return _MODULE.pack(len(module.name), len(text), module.hidden, by_name), module.name, text


def pack_call(call: Call, *, knows_library: bool = False) -> bytes:
    """A call as bytes; modules of our library without their texts for a child that knows these."""
    limits = call.limits
    modules = b"".join(
        part for module in call.modules for part in _module_parts(module, knows_library)
    )
    header = _REQUEST.pack(
        _REQUEST_MAGIC,
        call.task,
        call.again,
        limits.cpu_ms,
        limits.wall_ms,
        limits.memory_bytes,
        limits.output_bytes,
        len(call.name),
        len(call.script),
        len(call.object_json),
        len(modules),
    )
    return b"".join((header, call.name, call.script, call.object_json, modules))


def read_call(read: Callable[[int], bytes]) -> Call:
    """Reads one call; `read(n)` returns exactly n bytes."""
    magic, task, again, cpu, wall, memory, output, name, script, obj, modules = _REQUEST.unpack(
        read(REQUEST_HEADER)
    )
    if magic != _REQUEST_MAGIC:
        raise Garbled("not a call")
    limits = Limits(cpu, wall, memory, output)
    parts = (read(name), read(script), read(obj))
    return Call(_TASKS[task], limits, *parts, again, tuple(_modules(read(modules))))


def _modules(data: bytes) -> Iterator[Module]:
    at = 0
    while at < len(data):
        name, text, hidden, ours = _MODULE.unpack_from(data, at)
        begin = at + _MODULE.size
        at = begin + name + text
        yield Module(data[begin : begin + name], data[begin + name : at], hidden, ours=ours)


def pack_reply(reply: Reply) -> bytes:
    """A reply as bytes, with its texts cut to what the server accepts."""
    parts = (
        reply.result,
        reply.message[:MESSAGE_BYTES],
        reply.traceback[:TRACEBACK_BYTES],
        reply.path[:PATH_BYTES],
        reply.log[:LOG_BYTES],
    )
    header = _REPLY.pack(
        _REPLY_MAGIC, reply.code, reply.line, reply.cpu_us, reply.memory, *map(len, parts)
    )
    return b"".join((header, *parts))


class ReplyHeader(NamedTuple):
    """The fixed part of a reply, checked."""

    code: int
    line: int
    cpu_us: int
    memory: int
    lengths: tuple[int, int, int, int, int]

    @property
    def body_size(self) -> int:
        """Bytes that follow the header."""
        return sum(self.lengths)


def parse_reply_header(header: bytes, output_bytes: int, *, checked: bool = True) -> ReplyHeader:
    """Checks the announced sizes before a byte of the body is read (unless a test wants to see why)."""
    magic, code, line, cpu, memory, *lengths = _REPLY.unpack(header)
    if magic != _REPLY_MAGIC:
        raise Garbled("not a reply")
    bounds = (output_bytes, MESSAGE_BYTES, TRACEBACK_BYTES, PATH_BYTES, LOG_BYTES)
    if checked and any(size > bound for size, bound in zip(lengths, bounds, strict=True)):
        raise Garbled("reply announces more than it may send")
    result, message, traceback, path, log = lengths
    return ReplyHeader(code, line, cpu, memory, (result, message, traceback, path, log))


def parse_reply_body(header: ReplyHeader, body: bytes) -> Reply:
    """Splits the body into its fields."""
    parts, start = [], 0
    for size in header.lengths:
        parts.append(body[start : start + size])
        start += size
    return Reply(header.code, header.line, header.cpu_us, header.memory, *parts)


# The control socket between server and zygote: one SEQPACKET datagram per message, the kind in its first byte.
FORK = b"F"
READY = b"R"
BORN = b"C"
EXITED = b"X"
FORK_FAILED = b"E"
UNFIT = b"U"  # the zygote could not prepare itself; the reason follows

_BORN = struct.Struct("<cI")
_EXITED = struct.Struct("<cIiQQQ")


class Exit(NamedTuple):
    """The end of a child: raw wait status, and its use of resources."""

    pid: int
    status: int
    user_us: int
    system_us: int
    max_rss_kb: int


def pack_born(pid: int) -> bytes:
    """The zygote's message about a new child; its socket and pidfd are sent with it."""
    return _BORN.pack(BORN, pid)


def unpack_born(datagram: bytes) -> int:
    """The pid of the new child."""
    return int(_BORN.unpack(datagram)[1])


def pack_exited(report: Exit) -> bytes:
    """The zygote's message about a child that has ended."""
    return _EXITED.pack(
        EXITED, report.pid, report.status, report.user_us, report.system_us, report.max_rss_kb
    )


def unpack_exited(datagram: bytes) -> Exit:
    """The report of one child's end."""
    _, pid, status, user, system, rss = _EXITED.unpack(datagram)
    return Exit(pid, status, user, system, rss)
