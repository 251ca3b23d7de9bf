"""Accepted clients that wait for a place.

Why it exists: an API server opens a connection for each review in progress, so while reviews are slow there are more
connections than places. If we closed one, a change of a workload would be refused; a socket that waits before its
handshake costs almost nothing. Invariant: at most `most` wait, none longer than `seconds`; if there are too many, the
newest one of the address with the most is closed, so that no address takes another's turn. It must not know the
connections that have a place.
"""

from collections import deque
from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """A socket, as far as it matters here."""

    def close(self) -> None:
        """Close the connection."""
        ...


C = TypeVar("C", bound=Closable)


class WaitingRoom(Generic[C]):
    """Sockets by address, each address in the order of their coming."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._queues: dict[str, deque[tuple[float, C]]] = {}

    def __len__(self) -> int:
        return sum(len(queue) for queue in self._queues.values())

    def enter(self, address: str, client: C, now: float) -> None:
        """Add a client; if there are too many, close the newest one of the address with the most clients."""
        self._queues.setdefault(address, deque()).append((now, client))
        if len(self) > self._most:
            longest = max(self._queues, key=lambda one: (len(self._queues[one]), one == address))
            _, gone = self._queues[longest].pop()
            self._drop_empty(longest)
            gone.close()

    def take(self, address: str) -> C:
        """The one of that address that has waited longest."""
        _, client = self._queues[address].popleft()
        self._drop_empty(address)
        return client

    def waits(self, address: str) -> bool:
        """Whether anybody of that address waits."""
        return address in self._queues

    def fewest_first(self, places: Mapping[str, int]) -> list[str]:
        """The waiting addresses, ordered by their number of places, the fewest first."""
        return sorted(self._queues, key=lambda one: places.get(one, 0))

    def expire(self, now: float) -> int:
        """Close the clients that have waited too long; return their number."""
        number = 0
        for address in tuple(self._queues):
            queue = self._queues[address]
            while queue and now - queue[0][0] >= self._seconds:
                queue.popleft()[1].close()
                number += 1
            self._drop_empty(address)
        return number

    def close(self) -> None:
        """Close all waiting connections."""
        for queue in self._queues.values():
            for _, client in queue:
                client.close()
        self._queues.clear()

    def _drop_empty(self, address: str) -> None:
        if not self._queues[address]:
            del self._queues[address]
