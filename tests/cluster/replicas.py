"""Several controllers behind one address on a plane, which share Leases and the Secrets with the certificates.

Why it exists: events between replicas (a new leader, a certificate that both serve) need several processes. Invariant:
the API server calls one address, as it calls a Service; behind it are the replicas that the test names. When a
replica is taken out, its connections are closed, as a proxy does it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType

from controller.api.names import LEASE
from demo.stage import CONTROLLER, NAMESPACE, READY_SECONDS, Product, answers_at, on_one_machine
from localcluster.errors import RequestRefused
from localcluster.plane import Plane
from localcluster.ports import free_ports
from localcluster.process import Component, Program

LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
HAND_OVER_SECONDS = 60.0
SHARED_OUT_SECONDS = 120.0
LOOK_SECONDS = 0.05
NAMES = ("first", "second")
_NO_FLAGS: Mapping[str, Sequence[str]] = MappingProxyType({})


class Front:
    """Passes connections on to the replicas in turn, as a Service does."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self._open: dict[asyncio.StreamWriter, int] = {}
        self._turn = 0

    def take_out(self, port: int) -> None:
        """Open no new connection to this replica, and close its present ones."""
        self.ends.remove(port)
        for writer, end in tuple(self._open.items()):
            if end == port:
                writer.close()

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Copy bytes of one connection until it ends."""
        if not self.ends:
            writer.close()
            return
        self._turn += 1
        end = self.ends[self._turn % len(self.ends)]
        self._open[writer] = end
        try:
            there, to_there = await asyncio.open_connection("127.0.0.1", end)
        except OSError:
            writer.close()
            return
        finally:
            self._open.pop(writer, None)
        self._open[writer] = end
        try:
            await asyncio.gather(_copy(reader, to_there), _copy(there, writer))
        finally:
            self._open.pop(writer, None)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


class Replica:
    """One controller."""

    def __init__(
        self, name: str, component: Component, ports: tuple[int, int], folder: Path
    ) -> None:
        """`ports` are those of the webhooks and of the probes."""
        self.name = name
        self.component = component
        self.webhook_port, self.probes_port = ports
        self.served = folder / "certificates" / "serving" / "tls.crt"
        """The certificate that it serves."""


class Replicas:
    """All replicas, with their plane."""

    def __init__(self, product: Product, front: Front, members: Sequence[Replica]) -> None:
        self.product = product
        self.plane = product.plane
        self.front = front
        self.members = tuple(members)

    async def holder(self, lease: str = LEASE) -> str:
        """The replica that holds a Lease; empty when there is none."""
        try:
            found = await self.plane.client().get(f"{LEASES}/{lease}")
        except RequestRefused as refused:
            if refused.status == HTTPStatus.NOT_FOUND:
                return ""
            raise
        return str(found["spec"].get("holderIdentity") or "")

    async def holders(self, shards: int) -> list[str]:
        """The holders of this number of shards."""
        return [await self.holder(f"{LEASE}-{shard}") for shard in range(shards)]

    async def holding(self, shards: int, wanted: Callable[[list[str]], bool]) -> list[str]:
        """The holders of the shards, as soon as they are as wanted."""
        async with asyncio.timeout(SHARED_OUT_SECONDS):
            while not wanted(holders := await self.holders(shards)):  # noqa: ASYNC110 - renewed all the time
                await asyncio.sleep(LOOK_SECONDS)
        return holders

    def named(self, name: str) -> Replica:
        """The replica of this name."""
        return next(one for one in self.members if one.name == name)

    async def leader(self, besides: str = "") -> Replica:
        """The replica that leads, as soon as one other than `besides` does."""
        async with asyncio.timeout(HAND_OVER_SECONDS):
            while (holder := await self.holder()) in ("", besides):  # noqa: ASYNC110 - renewed all the time
                await asyncio.sleep(LOOK_SECONDS)
        return self.named(holder)

    def other(self, than: Replica) -> Replica:
        """The other one of the two."""
        return next(one for one in self.members if one is not than)


@contextlib.asynccontextmanager
async def replicas(
    plane: Plane,
    folder: Path,
    *flags: str,
    names: Sequence[str] = NAMES,
    own: Mapping[str, Sequence[str]] = _NO_FLAGS,
    begin: int | None = None,
) -> AsyncIterator[Replicas]:
    """Moonshift, installed, with controllers of these names and a worker, for the length of a block.

    `flags` are for all controllers, `own` for single ones. The first `begin` controllers are started here, the others
    by the test.
    """
    front = Front()
    server = await asyncio.start_server(front.pass_on, "127.0.0.1", 0)
    address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    product = Product(plane, folder, free_ports(5))
    await product.install()
    token = await plane.service_account_token(NAMESPACE, CONTROLLER)
    kubeconfig = plane.kubeconfig_for_token("controller", token)
    members = [
        _replica(product, name, kubeconfig, address, (*flags, *own.get(name, ()))) for name in names
    ]
    first = members[:begin]
    front.ends = [one.webhook_port for one in first]
    worker = product.add_worker()
    try:
        await asyncio.gather(worker.start(), *(one.component.start() for one in first))
        yield Replicas(product, front, members)
    finally:
        for part in (*(one.component for one in reversed(members)), worker):
            await part.cont()
            await part.terminate()
        server.close()


def _replica(
    product: Product, name: str, kubeconfig: Path, address: str, flags: Sequence[str]
) -> Replica:
    folder = product.folder / name
    webhook, metrics, probes = free_ports(3)
    values = {
        "--kubeconfig": str(kubeconfig),
        "--lua-worker": f"unix://{product.socket}",
        "--webhook-port": str(webhook),
        "--webhook-url": address,
        "--webhook-cert-dir": str(folder / "certificates"),
        "--metrics-bind-address": f"127.0.0.1:{metrics}",
        "--health-probe-bind-address": f"127.0.0.1:{probes}",
    }
    command = on_one_machine(product.arguments(CONTROLLER), values)
    own = [f"--identity={name}", "--webhook-certs-in-secret", *flags]
    program = Program(f"controller-{name}", [*command, *own], folder / "controller.log")
    component = Component(program, answers_at(f"127.0.0.1:{probes}"), READY_SECONDS)
    return Replica(name, component, (webhook, probes), folder)
