"""A worker that may open no more files loses a child, and nothing else."""

import asyncio
import os
import resource
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from luaworker import wire
from luaworker.spawn import Child, Zygote


@contextmanager
def open_files(more: int) -> Iterator[None]:
    """This process may open so many more files; nothing else may happen meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("more", [0, 1])
async def test_a_child_whose_descriptors_do_not_arrive_is_not_waited_for(more: int) -> None:
    born: list[Child] = []
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    process = subprocess.Popen(["sleep", "60"])  # noqa: ASYNC220 - returns at once
    zygote = Zygote(process, ours, lambda _, child: born.append(child), lambda _: None)
    channel, its_end = socket.socketpair()
    with theirs, its_end:
        zygote.fork(2)
        before = descriptors()
        with channel:
            socket.send_fds(theirs, [wire.pack_born(7)], [channel.fileno(), channel.fileno()])
        with open_files(more):
            zygote._readable()
        assert (born, zygote.pending, descriptors()) == ([], 1, before - 1)
        assert its_end.recv(1) == b"", "its process ends, because its channel has ended"
        a, b = socket.socketpair()
        with a, b:
            socket.send_fds(theirs, [wire.pack_born(8)], [a.fileno(), os.pidfd_open(process.pid)])
        zygote._readable()
        assert ([child.pid for child in born], zygote.pending) == ([8], 0)
        zygote.end()
        born[0].discard()
    await asyncio.sleep(0)
