"""A way to the script worker that knows when a call is under way.

It passes bytes between the controller and the worker's socket and reads no more of HTTP/2 than where frames begin: a
HEADERS frame from the client is a call. Invariant: nothing is changed; at the chosen call the killer runs after the
request was passed on and before anything of the answer is.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Self

PREFACE = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
FRAME = 9
HEADERS, DATA = 1, 0
END_STREAM = 1

Killer = Callable[[], Awaitable[None]]


class ScriptCallProxy:
    """Counts calls, and kills during one of them; make it with `serving`."""

    def __init__(self, worker: Path) -> None:
        self._worker = worker
        self._target = 0
        self._kill: Killer | None = None
        self.calls = 0

    @classmethod
    @asynccontextmanager
    async def serving(cls, worker: Path, here: Path) -> AsyncIterator[Self]:
        """Listen on a socket for the length of a block."""
        proxy = cls(worker)
        server = await asyncio.start_unix_server(proxy._connected, here)
        async with server:
            yield proxy

    def watch(self, target: int = 0, kill: Killer | None = None) -> None:
        """Count calls from here on; during the `target`-th (1-based), kill."""
        self.calls, self._target, self._kill = 0, target, kill

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_unix_connection(self._worker)
        except OSError:
            writer.close()
            return
        answers = asyncio.create_task(_copy(there, writer))
        try:
            await self._requests(reader, back)
        finally:
            answers.cancel()
            with suppress(asyncio.CancelledError):
                await answers
            writer.close()
            back.close()

    async def _requests(self, reader: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            back.write(await reader.readexactly(PREFACE))
            while True:
                head = await reader.readexactly(FRAME)
                body = await reader.readexactly(int.from_bytes(head[:3], "big"))
                back.write(head + body)
                await back.drain()
                self.calls += head[3] == HEADERS
                whole = head[3] == DATA and bool(head[4] & END_STREAM)
                if whole and self.calls == self._target and self._kill is not None:
                    kill, self._kill = self._kill, None
                    await kill()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(2**16):
            writer.write(chunk)
            await writer.drain()
    writer.close()
