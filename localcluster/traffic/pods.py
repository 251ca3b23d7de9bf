"""Answers HTTP for every simulated pod, at the pod's own address.

Why it exists: KWOK gives pods addresses and lets them be Ready, but nothing listens there. Invariant: a pod answers
from the time at which it is Ready until it is gone, like a pod that stops gracefully. A connection to a known pod that
is not Ready is reset at once, a connection to an address without a pod after `HELD_SECONDS`, because this process sees
a new pod a little later than the API server does. It must not balance or retry. Run it in the network namespace.
"""

import asyncio
import sys
from collections import defaultdict
from pathlib import Path

from localcluster.api import JsonObject
from localcluster.traffic.watching import client_of, watched

PORT = 9090
HELD_SECONDS = 1.0
PODS = "/api/v1/pods"
OWN_ADDRESS = "127.0.0.1"
END = b"\r\n\r\n"


def answer(body: str) -> bytes:
    """Return a whole HTTP response."""
    return f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


class Addresses:
    """Which pod is at which address, and whether it answers."""

    def __init__(self) -> None:
        self._answers: dict[str, bytes] = {OWN_ADDRESS: answer("ready")}
        self._owners: dict[str, str] = {}
        self._news: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.connections: dict[str, set[asyncio.Transport]] = defaultdict(set)

    def see(self, change: str, pod: JsonObject) -> None:
        """Take in one change of a pod: its answer is its image and its name."""
        address = pod.get("status", {}).get("podIP", "")
        if not address:
            return
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        if change == "DELETED":
            if self._owners.get(address) == uid:
                self._forget(address)
            return
        self._owners[address] = uid
        if is_ready(pod):
            self._answers[address] = answer(f"{pod['spec']['containers'][0]['image']} {name}")
        else:
            self._answers.pop(address, None)
        self._news[address].set()

    def at(self, address: str) -> bytes | None:
        """Return the answer of the pod at an address; None if no pod answers."""
        return self._answers.get(address)

    def is_known(self, address: str) -> bool:
        """Whether a pod has the address, ready or not."""
        return address in self._owners

    async def news_of(self, address: str) -> None:
        """Return when something was heard of the address, or the patience is over."""
        try:
            async with asyncio.timeout(HELD_SECONDS):
                await self._news[address].wait()
        except TimeoutError:
            return

    def _forget(self, address: str) -> None:
        self._owners.pop(address, None)
        self._answers.pop(address, None)
        self._news.pop(address, None)
        for transport in self.connections.pop(address, set()):
            transport.abort()


def is_ready(pod: JsonObject) -> bool:
    """Whether the pod's condition Ready is true; a pod under deletion may still be ready."""
    conditions = pod["status"].get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


class Connection(asyncio.Protocol):
    """One connection to one pod: requests without bodies, answered in order."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._rest = b""
        self._waiting: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note which pod is meant."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address: str = transport.get_extra_info("sockname")[0]
        self._addresses.connections[self._address].add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._addresses.connections.get(self._address, set()).discard(self._transport)

    def data_received(self, data: bytes) -> None:
        """Answer every request that has arrived whole."""
        *requests, self._rest = (self._rest + data).split(END)
        if not requests:
            return
        answer = self._addresses.at(self._address)
        if answer is not None:
            self._transport.write(answer * len(requests))
        elif self._addresses.is_known(self._address):
            self._transport.abort()
        else:
            self._waiting = asyncio.create_task(self._answer_later(len(requests)))

    async def _answer_later(self, count: int) -> None:
        await self._addresses.news_of(self._address)
        answer = self._addresses.at(self._address)
        if answer is None:
            self._transport.abort()
        else:
            self._transport.write(answer * count)


async def serve(kubeconfig: Path) -> None:
    """Answer for all pods of a cluster until this process is ended."""
    addresses = Addresses()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(addresses), "0.0.0.0", PORT, backlog=1024)
    async with server, client_of(kubeconfig) as client:
        async for change, pod in watched(client, PODS):
            addresses.see(change, pod)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
