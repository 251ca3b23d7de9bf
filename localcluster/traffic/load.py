"""Sends requests at a steady rate, independent of the answers, and counts them.

Why it exists: a client that waits for each answer sends fewer requests when something breaks, and misses the failure.
Invariant: a request is sent when its time has come, on a connection nobody else waits on; each is sent once, never
again, so that a request that the gateway lost is counted as lost. It must not judge.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from localcluster.traffic.tally import Sent, Tally

TICK_SECONDS = 0.005
ANSWER_SECONDS = 60.0
IN_FLIGHT = 500
"""Requests in flight at most; a machine that cannot keep up sends fewer, it does not lose any."""
HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort of request: its path and headers, and how many of them are sent per round."""

    name: str
    per_round: int = 1
    path: str = "/"
    headers: tuple[tuple[str, str], ...] = ()

    def bytes_for(self, host: str) -> bytes:
        """Return the request as sent."""
        lines = [f"GET {self.path} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join((*lines, "", "")).encode()


class Load:
    """An open-loop client of one host behind one gateway."""

    def __init__(
        self, port: int, host: str, sorts: Sequence[Sort], rate: float, tally: Tally
    ) -> None:
        self.tally = tally
        self._port = port
        self._rate = rate
        self._requests = _in_rounds(
            [(s.name, s.bytes_for(host)) for s in sorts for _ in range(s.per_round)]
        )
        self._idle: deque[_Client] = deque()
        self._in_flight: set[asyncio.Task[None]] = set()
        self._begun = time.monotonic()

    async def run(self) -> None:
        """Send until cancelled; then wait for the answers to the requests that are in flight."""
        try:
            await self._send_steadily()
        finally:
            await asyncio.shield(self._drain())

    async def _send_steadily(self) -> None:
        sent, since = 0, time.monotonic()
        while True:
            due = int((time.monotonic() - since) * self._rate) - sent
            for _ in range(min(due, IN_FLIGHT - len(self._in_flight))):
                task = asyncio.create_task(self._one(*next(self._requests)))
                self._in_flight.add(task)
                task.add_done_callback(self._in_flight.discard)
                sent += 1
            if due > self._rate:
                # A second behind: the machine is busy. The missing requests are given up, not sent in a burst.
                sent, since = 0, time.monotonic()
            await asyncio.sleep(TICK_SECONDS)

    async def _drain(self) -> None:
        await asyncio.gather(*self._in_flight, return_exceptions=True)
        for client in self._idle:
            client.close()

    async def _one(self, sort: str, request: bytes) -> None:
        sent = self.tally.sent(sort)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                client = await self._client()
                status, body = await client.ask(request)
        except TimeoutError:
            self._fail(sent, f"no answer within {ANSWER_SECONDS:.0f} s")
        except OSError as error:
            self._fail(sent, f"{type(error).__name__}: {error}")
        else:
            self._keep(client)
            if status == 200:
                sent.answered(body.split(" ", 1)[0])
            else:
                self._fail(sent, f"{status} {body}")

    async def _client(self) -> "_Client":
        while self._idle:
            client = self._idle.popleft()
            if client.usable:
                return client
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(_Client, "127.0.0.1", self._port)
        return made

    def _keep(self, client: "_Client") -> None:
        if client.usable:
            self._idle.append(client)
        else:
            client.close()

    def _fail(self, sent: Sent, why: str) -> None:
        at = time.monotonic() - self._begun
        sent.failed(round(at, 3), why)


def _in_rounds(requests: list[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield round after round, each in an order of its own.

    A gateway that takes Services in turn would otherwise give each sort of request always the same one.
    """
    chance = random.Random(1)
    while True:
        yield from chance.sample(requests, len(requests))


class _Client(asyncio.Protocol):
    """One connection to the gateway, one request at a time."""

    def __init__(self) -> None:
        self.usable = True
        self._buffer = b""
        self._answer: asyncio.Future[tuple[int, str]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.usable = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("closed before an answer"))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, rest = self._buffer.partition(HEAD_END)
        if not separator:
            return
        lines = head.decode().split("\r\n")
        fields = {n.lower(): v for n, _, v in (line.partition(": ") for line in lines[1:])}
        length = int(fields.get("content-length", "0"))
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        if fields.get("connection") == "close":
            self.usable = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((int(lines[0].split()[1]), rest[:length].decode()))

    async def ask(self, request: bytes) -> tuple[int, str]:
        """Return status and body."""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            return await self._answer
        except asyncio.CancelledError:
            self.usable = False
            self._transport.abort()
            raise

    def close(self) -> None:
        """End the connection."""
        self._transport.close()
