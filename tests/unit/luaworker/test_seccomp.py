"""The filter's program, run by a small interpreter: both architectures can be checked on one machine."""

import struct

import pytest

from luaworker.seccomp import ARCHITECTURES, Architecture, assemble

ALLOW, KILL = 0x7FFF0000, 0x80000000


def decide(program: bytes, audit: int, number: int, *arguments: int) -> int:
    """The action of the kernel for a system call under this filter."""
    data = struct.pack("<IIQ", number & 0xFFFFFFFF, audit, 0)
    data += struct.pack("<6Q", *arguments, *[0] * (6 - len(arguments)))
    at, accumulator = 0, 0
    while True:
        code, yes, no, value = struct.unpack_from("<HBBI", program, at * 8)
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif code == 0x06:
            return int(value)
        else:
            holds = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[code]
            at += yes if holds else no


MACHINES = pytest.mark.parametrize(
    ("program", "machine"),
    [pytest.param(assemble(m), m, id=name) for name, m in ARCHITECTURES.items()],
)


@MACHINES
def test_only_listed_system_calls_are_allowed(program: bytes, machine: Architecture) -> None:
    allowed = {n for n in range(1024) if decide(program, machine.audit, n) == ALLOW}
    assert allowed == set(machine.plain)


@MACHINES
def test_reading_and_writing_work_on_the_channel_alone(
    program: bytes, machine: Architecture
) -> None:
    for number in (machine.read, machine.write):
        for descriptor in (0, 1, 2, 4, 3 + (1 << 32), (1 << 64) - 1):
            assert decide(program, machine.audit, number, descriptor) == KILL
        assert decide(program, machine.audit, number, 3) == ALLOW


@MACHINES
def test_memory_is_anonymous_and_never_executable(program: bytes, machine: Architecture) -> None:
    read_write, execute, private, anonymous = 3, 4, 2, 0x20

    def mmap(protection: int, flags: int) -> int:
        return decide(program, machine.audit, machine.mmap, 0, 4096, protection, flags)

    assert mmap(read_write, private | anonymous) == ALLOW
    assert mmap(read_write | execute, private | anonymous) == KILL
    assert mmap(read_write, private) == KILL


@MACHINES
def test_other_architectures_are_refused(program: bytes, machine: Architecture) -> None:
    assert decide(program, 0x40000003, machine.plain[0]) == KILL
    assert decide(program, machine.audit, machine.plain[0] | 0x40000000) == KILL


@MACHINES
def test_only_a_child_that_serves_again_may_set_timers(
    program: bytes, machine: Architecture
) -> None:
    again = assemble(machine, timers=True)
    for number in machine.timers:
        assert decide(program, machine.audit, number) == KILL
    allowed = {n for n in range(1024) if decide(again, machine.audit, n) == ALLOW}
    assert allowed == {*machine.plain, *machine.timers}
