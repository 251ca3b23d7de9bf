"""Controllers that are killed, each with a namespace of its own, under webhooks that are always answered.

One controller is installed as in `demo.stage`; it answers webhooks and never becomes the leader, because its Lease is
held by the test. Beside it every *lane* has a controller that reconciles one namespace without election, behind a
proxy. Invariant: a lane's controller runs again before the next case of the lane begins.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from demo.stage import CONTROLLER, NAMESPACE, Product, answers_at, install_gateway_kinds
from localcluster.errors import NotReady
from localcluster.kubeconfig import kubeconfig_text, write_private
from localcluster.plane import Plane
from localcluster.ports import free_ports
from localcluster.process import Component, Program
from localcluster.record import Recorder
from tests.cluster.kinds import RECORDED
from tests.cluster.secrecy import keeping_secrets
from tests.kill.proxy import Moment, WriteProxy, nobody
from tests.kill.scriptcalls import ScriptCallProxy
from tests.kill.zygote import ForkedController, Zygote

LEASE = "71ddec2c.kruise.io"
READY_SECONDS = 90.0


class Lane:
    """A namespace, a proxy and the controller behind it."""

    def __init__(self, namespace: str, proxy: WriteProxy, controller: Component) -> None:
        self.namespace = namespace
        self.proxy = proxy
        self.controller = controller
        self.kills = 0
        self._one_at_a_time = asyncio.Lock()

    async def kill(self) -> None:
        """End the controller at once; `mend` starts it again."""
        async with self._one_at_a_time:
            self.kills += 1
            await self.controller.kill()

    async def mend(self) -> None:
        """Start the controller again whenever it has been killed, until cancelled, as a kubelet does.

        A start that takes long on a busy machine is waited for by the release, which has a limit of its own.
        """
        while True:
            if not self.controller.running:
                with suppress(NotReady):
                    await self.ready()
            await asyncio.sleep(0.02)

    async def ready(self) -> None:
        """Return when the controller is ready; one that was killed is started.

        A release may end while the controller that was killed at its last write is still starting.
        """
        async with self._one_at_a_time:
            if not self.controller.running:
                self.controller.spawn()
            await self.controller.wait_ready()

    def aim(self, app: str, target: tuple[int, Moment] | None) -> None:
        """Count writes for an application, and kill at one."""
        self.proxy.watch(app, self.kill, target)

    def rest(self) -> None:
        """Kill no more; the counted writes stay."""
        self.proxy.disarm()


class Laboratory:
    """The plane, the product on it, a recording, and lanes."""

    def __init__(
        self, plane: Plane, product: Product, recorder: Recorder, lanes: list[Lane]
    ) -> None:
        self.plane = plane
        self.product = product
        self.recorder = recorder
        self.lanes = lanes
        self.script_calls: ScriptCallProxy


@asynccontextmanager
async def laboratory(
    folder: Path, width: int, proxies: type[WriteProxy] = WriteProxy
) -> AsyncIterator[Laboratory]:
    """Everything running, with `width` lanes; the first lane's script calls go through a proxy, too."""
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(Plane.start(folder / "plane"))
        await install_gateway_kinds(plane)
        (folder / "product").mkdir()
        product = Product(plane, folder / "product", free_ports(5))
        await product.install()
        await take_lease(plane)
        stack.push_async_callback(product.stop)
        await product.start()
        kinds = ",".join(f"{kind.plural}.{kind.group}".rstrip(".") for kind in RECORDED)
        await plane.kubectl("get", kinds, "--all-namespaces")
        recorder = await stack.enter_async_context(plane.recorder(*RECORDED))
        calls = await stack.enter_async_context(
            ScriptCallProxy.serving(product.socket, folder / "calls.sock")
        )
        zygote = stack.enter_context(Zygote.serving())
        lanes = []
        for number in range(width):
            socket = folder / "calls.sock" if number == 0 else product.socket
            lane = await _lane(stack, plane, product, f"lane-{number}", socket, proxies, zygote)
            lanes.append(lane)
        await asyncio.gather(*(lane.controller.start() for lane in lanes))
        made = Laboratory(plane, product, recorder, lanes)
        made.script_calls = calls
        async with keeping_secrets(product):
            yield made


async def take_lease(plane: Plane) -> None:
    """Nobody else becomes the leader for a day."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {
        "holderIdentity": "kill-tests",
        "leaseDurationSeconds": 24 * 3600,
        "acquireTime": now,
        "renewTime": now,
        "leaseTransitions": 0,
    }
    path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
    await plane.client().create(path, {"metadata": {"name": LEASE}, "spec": spec})


async def _lane(
    stack: AsyncExitStack,
    plane: Plane,
    product: Product,
    namespace: str,
    socket: Path,
    proxies: type[WriteProxy],
    zygote: Zygote,
) -> Lane:
    await plane.client().create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    proxy = await stack.enter_async_context(proxies.serving(plane, namespace))
    proxy.watch("", nobody)
    controller = await controller_behind(proxy, product, namespace, socket, zygote)
    stack.push_async_callback(controller.kill)
    return Lane(namespace, proxy, controller)


async def controller_behind(
    proxy: WriteProxy, product: Product, namespace: str, socket: Path, zygote: Zygote | None = None
) -> Component:
    """Make a controller that reconciles a namespace through a proxy, without election; it is not started.

    With an empty namespace it reconciles all. With a zygote it is forked, which is a short start.
    """
    token = await product.plane.service_account_token(NAMESPACE, CONTROLLER)
    authority = product.plane.ca_path.read_bytes()
    name = namespace or "all"
    text = kubeconfig_text(f"http://127.0.0.1:{proxy.port}", authority, name, token)
    kubeconfig = write_private(product.folder / f"{name}.yaml", text)
    webhook, metrics, probes = free_ports(3)
    # A repeated flag replaces the same flag of the installed controller's command line.
    command = [
        *product.controller.program.command,
        f"--kubeconfig={kubeconfig}",
        f"--lua-worker=unix://{socket}",
        "--leader-elect=false",
        *([f"--watch-namespace={namespace}"] if namespace else []),
        f"--webhook-port={webhook}",
        f"--metrics-bind-address=127.0.0.1:{metrics}",
        f"--health-probe-bind-address=127.0.0.1:{probes}",
    ]
    program = Program(name, command, product.folder / f"{name}.log")
    is_ready = answers_at(f"127.0.0.1:{probes}")
    if zygote is not None:
        return ForkedController(zygote, program, is_ready, READY_SECONDS)
    return Component(program, is_ready, READY_SECONDS)
