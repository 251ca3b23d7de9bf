"""Lets programs outside a node's box reach addresses inside.

Why it exists: the API server listens in the network of the box, and tests, kubectl and browsers are outside. Run as a
script with PID_FILE PORT=ADDRESS:PORT…; each PORT is one of 127.0.0.1 outside. Invariant: only these addresses are
reachable; bytes pass unchanged, in both directions, until both sides have ended. It must not listen on other
interfaces.
"""

import asyncio
import contextlib
import ctypes
import os
import socket
import sys

CHUNK = 1 << 18
BACKLOG = 512


def main(arguments: list[str]) -> None:
    """Listen outside, enter the network of the box, forward until this process is ended."""
    pid_file, *passages = arguments
    open_passages = [(_listening(int(here)), there) for here, there in map(_split, passages)]
    with open(pid_file) as file:
        _enter_network(int(file.read()))
    asyncio.run(_forward(open_passages))


def _split(passage: str) -> tuple[str, str]:
    here, _, there = passage.partition("=")
    return here, there


def _listening(port: int) -> socket.socket:
    """Return a socket that stays in the network in which it was made."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(BACKLOG)
    return listener


def _enter_network(pid: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    if library.setns(namespace, 0) != 0:
        raise OSError(ctypes.get_errno(), f"the network of process {pid} cannot be entered")
    os.close(namespace)


async def _forward(passages: list[tuple[socket.socket, str]]) -> None:
    servers = [
        await asyncio.start_server(_Passage(there), sock=listener) for listener, there in passages
    ]
    await asyncio.gather(*(server.serve_forever() for server in servers))


class _Passage:
    def __init__(self, there: str) -> None:
        self._host, _, port = there.rpartition(":")
        self._port = int(port)
        # The event loop keeps only weak references, so a task that waits for both sides could be collected.
        self._under_way: set[asyncio.Task[None]] = set()

    def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._join(reader, writer))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        for side in (writer, far_writer):
            side.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
        return
    writer.transport.abort()


if __name__ == "__main__":
    main(sys.argv[1:])
