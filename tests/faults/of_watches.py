"""Faults of watches and lists: ends, gaps, silence, old lists.

Invariant: the order of events within one watch is kept, and the last state of an object is always delivered.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress

from aiohttp import web

from tests.faults.proxy import Fault

EXPIRED = {
    "type": "ERROR",
    "object": {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "Expired",
        "message": "too old resource version",
        "code": 410,
    },
}


class EndsWatches(Fault):
    """Every watch ends after this number of events, as when the API server closes it."""

    least = 5

    def __init__(self, after: int) -> None:
        super().__init__()
        self._after = after

    async def lines(
        self, request: web.Request, lines: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """The first events."""
        text = 0
        async for line in lines:
            yield line
            text += 1
            if text == self._after:
                self.times += 1
                return


class ExpiresWatches(EndsWatches):
    """After this number of events the version is too old: everything has to be listed again."""

    costs = 3.0
    """A list and a watch; measured were 1.8."""

    async def lines(
        self, request: web.Request, lines: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """The first events, and an error."""
        async for line in super().lines(request, lines):
            yield line
        yield json.dumps(EXPIRED).encode() + b"\n"


class ListsAreOld(ExpiresWatches):
    """Watches expire, and the next list repeats the list before: an API server replica that lags."""

    def __init__(self, after: int) -> None:
        super().__init__(after)
        self._first: dict[str, bytes] = {}
        self._again: set[str] = set()

    def body(self, request: web.Request, body: bytes) -> bytes:
        """Every second list of a kind repeats the list before it."""
        at = request.path_qs
        if "resourceVersion" not in body.decode(errors="ignore") or '"items":' not in body.decode():
            return body
        if at in self._again or at not in self._first:
            self._again.discard(at)
            self._first[at] = body
            return body
        self._again.add(at)
        self.times += 1
        return self._first[at]


class IsSilent(Fault):
    """Watches stay open and deliver nothing for some seconds, again and again."""

    costs = 0.0

    def __init__(self, seconds: float, after: int) -> None:
        super().__init__()
        self._seconds, self._after = seconds, after

    async def lines(
        self, request: web.Request, lines: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """Every event of the watch; some events come late."""
        text = 0
        async for line in lines:
            if text % self._after == 0:
                self.times += 1
                await asyncio.sleep(self._seconds)
            text += 1
            yield line


class ComesLate(Fault):
    """Every event of a watch comes this many seconds late, in its order."""

    costs = 0.0

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def lines(
        self, request: web.Request, lines: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """Every event of the watch, each one late."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[float, bytes | None]] = asyncio.Queue()

        async def read() -> None:
            with suppress(Exception):
                async for line in lines:
                    queue.put_nowait((loop.time() + self._seconds, line))
            queue.put_nowait((loop.time(), None))

        reading = asyncio.create_task(read())
        try:
            while True:
                due, line = await queue.get()
                if line is None:
                    return
                await asyncio.sleep(due - loop.time())
                self.times += 1
                yield line
        finally:
            reading.cancel()


class Coalesces(Fault):
    """Of an object's events within a moment, only the last is delivered: intermediate states are never seen."""

    costs = 0.0

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def lines(
        self, request: web.Request, lines: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """The last event of each object in each moment."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()

        async def read() -> None:
            with suppress(Exception):
                async for line in lines:
                    queue.put_nowait(line)
            queue.put_nowait(None)

        reading = asyncio.create_task(read())
        try:
            while (line := await queue.get()) is not None:
                await asyncio.sleep(self._seconds)
                moment = [line]
                while not queue.empty() and queue._queue[0] is not None:  # type: ignore[attr-defined] # no peek
                    moment.append(queue.get_nowait() or b"")
                for kept in self._last_ones(moment):
                    yield kept
        finally:
            reading.cancel()

    def _last_ones(self, moment: list[bytes]) -> list[bytes]:
        fields: dict[str, bytes] = {}
        for line in moment:
            event = json.loads(line)
            uid = event["object"].get("metadata", {}).get("uid", event["type"])
            if uid in fields:
                self.times += 1
                first = json.loads(fields.pop(uid))["type"]
                if first == "ADDED" and event["type"] == "MODIFIED":
                    event["type"] = first
            fields[uid] = json.dumps(event).encode() + b"\n"
        return list(fields.values())
