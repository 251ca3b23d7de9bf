"""Limits of connections: how many there are, how long one may need for its headers, and which one makes room.

Why it exists: every pod of the cluster can open connections, and one costs 75 kilobytes (TLS) before it has sent a
request. Invariant: at most `most` connections, and at most `per_address` of one address, counted from the
handshake on; further ones wait for a place, those of the address with the fewest places first; the connection that was
idle longest makes room; a request line and its headers arrive within `head_seconds`. It must not read requests: the
server does.
"""

import asyncio
import contextlib
import logging
import select
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from typing import cast

import msgspec

from controller.runtime.beside import beside
from controller.webhook.waiting_clients import WaitingRoom

log = logging.getLogger(__name__)

MAX_PENDING_CONNECTIONS = 1024
"""Connections the kernel keeps for us until we accept them."""


def _readable(descriptor: int) -> bool:
    # Not select(): it knows no descriptor above 1023.
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


class ConnectionLimits(msgspec.Struct, frozen=True):
    """The limits of clients; an API server keeps up to 25 idle connections, and a busy one for each request."""

    most: int = 160
    per_address: int = 64
    idle_seconds: float = 1.0
    """The idle time after which a connection may be closed to make room: a client that has just connected is about to
    ask.
    """
    waiting: int = 512
    """Clients that wait for a place, all together."""
    waiting_seconds: float = 8.0
    """How long one may wait; the API server gives up after 10."""
    look_seconds: float = 0.2
    """Between two checks of the waiting connections, while there are any."""
    handshake_seconds: float = 5.0
    head_seconds: float = 10.0
    pause_seconds: float = 0.1
    """The wait after a failed accept: the process has no more files, or no more memory."""


class Connection(asyncio.Protocol):
    """One connection; everything is passed on to `inner`, the HTTP protocol."""

    def __init__(self, acceptor: "Acceptor", address: str, inner: asyncio.Protocol) -> None:
        self.address = address
        self.idle_since: float | None = None
        self._door = acceptor
        self._inner = inner
        self._transport: asyncio.Transport | None = None
        self._head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Give the connection a place: its handshake is over."""
        # No isinstance: transports of uvloop have no Python class above them.
        self._transport = cast("asyncio.Transport", transport)
        self.idle_since = asyncio.get_running_loop().time()
        self._door.opened(transport, self)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """The first bytes of a request start the clock for its headers."""
        if self.idle_since is not None and self._head is None:
            loop = asyncio.get_running_loop()
            # Once for each head: the server reads it in a later turn of the loop.
            self.idle_since = loop.time()
            self._head = loop.call_later(self._door.limits.head_seconds, self.abort)
        self._inner.data_received(data)

    def asking(self) -> None:
        """The headers have come: stop their clock."""
        self.idle_since = None
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def answered(self) -> None:
        """The request is over: the connection is idle from now on."""
        self.idle_since = asyncio.get_running_loop().time()

    def idle_by(self, instant: float) -> bool:
        """Whether it has been idle since then, or longer. A request that has come while nobody looked is none of its
        client's idleness.
        """
        return self.idle_since is not None and self.idle_since <= instant and not self._has_news()

    def _has_news(self) -> bool:
        """Whether there are bytes of the client, or its end, that nobody has read yet."""
        if self._transport is None or self._transport.is_closing():
            return False
        return bool(_readable(self._transport.get_extra_info("socket").fileno()))

    def abort(self) -> None:
        """Close the connection without an answer."""
        if self._transport is not None:
            self._transport.abort()

    def eof_received(self) -> bool | None:
        """The client sends no more bytes."""
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place of the connection back."""
        self.asking()
        self._door.closed(self, self._transport)
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """Stop writing: the client reads slowly."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Write again: the client has read."""
        self._inner.resume_writing()


class Acceptor:
    """Accepts connections within `limits` and gives each a protocol made by `make`."""

    def __init__(
        self,
        make: Callable[[], asyncio.Protocol],
        tls: ssl.SSLContext | None,
        limits: ConnectionLimits,
    ) -> None:
        self.limits = limits
        self._make = make
        self._tls = tls
        self._inside: set[Connection] = set()
        self._by_transport: dict[object, Connection] = {}
        self._per_address: Counter[str] = Counter()
        self._handshakes: set[asyncio.Task[None]] = set()
        self._waiting: WaitingRoom[socket.socket] = WaitingRoom(
            limits.waiting, limits.waiting_seconds
        )
        self._anybody = asyncio.Event()

    async def receive(self, listening: socket.socket) -> None:
        """Accept for ever."""
        try:
            async with beside(self._look, "waiting connections"):
                await self._accept(listening)
        finally:
            self._waiting.close()
            for handshake in self._handshakes:
                handshake.cancel()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, peer = await loop.sock_accept(listening)
            except OSError as error:
                log.warning("a connection was not accepted: %s", error)
                await asyncio.sleep(self.limits.pause_seconds)
                continue
            self._waiting.enter(str(peer[0]), sock, loop.time())
            self._let_in()

    async def _look(self) -> None:
        """Accept waiting clients if idle connections can be closed for them, and close connections that have waited
        too long."""
        loop = asyncio.get_running_loop()
        while True:
            await self._anybody.wait()
            await asyncio.sleep(self.limits.look_seconds)
            if given_up := self._waiting.expire(loop.time()):
                log.warning("%d connections closed: no place for them in time", given_up)
            self._let_in()

    def _let_in(self) -> None:
        """Give free places to waiting connections."""
        while (address := self._next()) is not None:
            self._receive_one(self._waiting.take(address), address)
        if self._waiting:
            self._anybody.set()
        else:
            self._anybody.clear()

    def _next(self) -> str | None:
        waiting = self._waiting.fewest_first(self._per_address)
        return next((address for address in waiting if self._has_room(address)), None)

    def _receive_one(self, sock: socket.socket, address: str) -> None:
        connection = Connection(self, address, self._make())
        self._inside.add(connection)
        self._per_address[address] += 1
        task = asyncio.get_running_loop().create_task(self._greet(sock, connection))
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)

    async def _greet(self, sock: socket.socket, connection: Connection) -> None:
        seconds = self.limits.handshake_seconds if self._tls is not None else None
        sock.setblocking(False)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                sock,
                ssl=self._tls,
                ssl_handshake_timeout=seconds,
                ssl_shutdown_timeout=seconds,
            )
        except OSError as error:
            log.debug("no handshake with %s: %s", connection.address, error)
            self.closed(connection, None)
        except BaseException:
            # Whatever ended it: a place that nobody has must not stay taken.
            self.closed(connection, None)
            raise

    def _has_room(self, address: str) -> bool:
        """Whether one more connection may be accepted; an idle one is closed for it."""
        if self._per_address[address] >= self.limits.per_address:
            return self._sent_away(lambda one: one.address == address)
        return len(self._inside) < self.limits.most or self._sent_away(lambda one: True)

    def _sent_away(self, eligible: Callable[[Connection], bool]) -> bool:
        latest = asyncio.get_running_loop().time() - self.limits.idle_seconds
        idle = [one for one in self._inside if one.idle_by(latest) and eligible(one)]
        if not idle:
            return False
        # The address with the most connections gives one up first, the longest idle one.
        gone = min(idle, key=lambda one: (-self._per_address[one.address], one.idle_since or 0.0))
        gone.abort()
        self._forget(gone)
        return True

    # --- called by connections and the server ---------------------------------------------------

    def opened(self, transport: object, connection: Connection) -> None:
        """A handshake is over."""
        self._by_transport[transport] = connection

    def closed(self, connection: Connection, transport: object) -> None:
        """A connection is gone, or never came to be."""
        self._by_transport.pop(transport, None)
        self._forget(connection)
        self._let_in()

    def _forget(self, connection: Connection) -> None:
        if connection not in self._inside:
            return
        self._inside.remove(connection)
        self._per_address[connection.address] -= 1
        if not self._per_address[connection.address]:
            del self._per_address[connection.address]

    @property
    def waiting(self) -> int:
        """How many wait for a place."""
        return len(self._waiting)

    @property
    def places(self) -> dict[str, int]:
        """How many places each address has."""
        return dict(self._per_address)

    def crowded(self, transport: object) -> bool:
        """Whether a client waits that the end of this connection would let in."""
        connection = self._by_transport.get(transport)
        if connection is None or not self._waiting:
            return False
        full = len(self._inside) >= self.limits.most
        return full or self._waiting.waits(connection.address)

    @contextlib.contextmanager
    def asking(self, transport: object) -> Iterator[None]:
        """While a request of the connection is answered."""
        connection = self._by_transport.get(transport)
        if connection is None:
            yield
            return
        connection.asking()
        try:
            yield
        finally:
            connection.answered()
