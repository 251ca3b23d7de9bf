"""Moonshift on a local control plane: installed from its manifests, its two processes started by hand.

Why by hand: the local cluster has no kubelet. Invariant: the processes run with the commands, arguments and
ServiceAccount rights of the manifests in `deploy/kustomize/local`; only the arguments in `REPLACED` and
`DROPPED` differ, because processes on one machine share its ports and files. Used by the demo, by cluster tests and
by benches.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from localcluster.errors import RequestRefused
from localcluster.history import Kind
from localcluster.plane import Plane
from localcluster.ports import free_ports
from localcluster.process import Component, Program, ReadyCheck

ROOT = Path(__file__).resolve().parent.parent
OVERLAY = ROOT / "deploy" / "kustomize" / "local"
GATEWAY_KINDS = Path(__file__).resolve().parent / "crds"
CRDS = ROOT / "deploy" / "crds"
NAMESPACE = "kruise-rollout"
CONTROLLER = "kruise-rollout-controller-manager"
WORKER = "moonshift-luaworker"
READY_SECONDS = 60.0
SERVED_SECONDS = 90.0
PROBE = aiohttp.ClientTimeout(total=2.0)

PROBES = "--health-probe-bind-address"
REPLACED = (
    "--kubeconfig",
    "--lua-worker",
    "--listen",
    "--webhook-port",
    "--webhook-url",
    "--webhook-cert-dir",
    "--metrics-bind-address",
    "--health-probe-bind-address",
)
"""Arguments whose value is another on one machine."""
DROPPED = ("--tls-dir", "--lua-worker-tls-dir", "--shutdown-delay")
"""Arguments that are left out: controller and worker share a Unix socket, and no proxy has to hear of their end."""


class Product:
    """The controller and the worker on a plane, with their addresses."""

    def __init__(
        self, plane: Plane, folder: Path, ports: Sequence[int], *, tied: bool = True
    ) -> None:
        self.plane = plane
        self.folder = folder
        self._tied = tied
        self.webhook_port, *rest = ports
        self.controller_metrics, self.controller_probes, self.worker_metrics, self.worker_probes = (
            rest
        )
        self.socket = folder / "worker.sock"
        self.manifests: list[dict[str, Any]] = []
        self.components: dict[str, Component] = {}

    @property
    def controller(self) -> Component:
        """The controller's process."""
        return self.components["controller"]

    @property
    def worker(self) -> Component:
        """The worker's process."""
        return self.components["luaworker"]

    @property
    def parts(self) -> tuple[Component, ...]:
        """The processes that were made so far."""
        return tuple(self.components.values())

    async def install(self) -> None:
        """Apply the manifests: CRDs, rights, webhook configurations, Deployments of no replicas."""
        await self.plane.kubectl("apply", "--server-side", "-f", str(CRDS))
        rendered = await self.plane.kubectl("kustomize", str(OVERLAY))
        self.manifests = [doc for doc in yaml.safe_load_all(rendered) if doc]
        await self.plane.apply(rendered, server_side=True)
        await self.plane.crds_served("rollouts.rollouts.kruise.io")

    async def start(self, extra: Sequence[str] = (), kubeconfig: Path | None = None) -> None:
        """Start both processes and wait until they are ready; as the manifests' account, or with a kubeconfig."""
        if kubeconfig is None:
            token = await self.plane.service_account_token(NAMESPACE, CONTROLLER)
            kubeconfig = self.plane.kubeconfig_for_token("controller", token)
        self.add_worker()
        controller = {
            "--kubeconfig": str(kubeconfig),
            "--lua-worker": f"unix://{self.socket}",
            "--webhook-port": str(self.webhook_port),
            "--webhook-url": f"https://127.0.0.1:{self.webhook_port}",
            "--webhook-cert-dir": str(self.folder / "certificates"),
            "--metrics-bind-address": f"127.0.0.1:{self.controller_metrics}",
            "--health-probe-bind-address": f"127.0.0.1:{self.controller_probes}",
        }
        self._add("controller", CONTROLLER, controller, self.controller_probes, extra)
        await asyncio.gather(*(part.start() for part in self.parts))

    def add_worker(self) -> Component:
        """Make the worker, which is not started."""
        values = {
            "--listen": f"unix://{self.socket}",
            "--metrics-bind-address": f"127.0.0.1:{self.worker_metrics}",
            "--health-probe-bind-address": f"127.0.0.1:{self.worker_probes}",
        }
        self._add("luaworker", WORKER, values, self.worker_probes)
        return self.worker

    async def stop(self) -> None:
        """End both processes."""
        for part in reversed(self.parts):
            await part.terminate()

    def arguments(self, deployment: str) -> list[str]:
        """Command and arguments of the first container of a Deployment of the manifests."""
        found = next(
            doc
            for doc in self.manifests
            if doc["kind"] == "Deployment" and doc["metadata"]["name"] == deployment
        )
        container = found["spec"]["template"]["spec"]["containers"][0]
        return [*container.get("command", []), *container.get("args", [])]

    def _add(
        self,
        name: str,
        deployment: str,
        values: dict[str, str],
        probes: int,
        extra: Sequence[str] = (),
    ) -> None:
        command = on_one_machine(self.arguments(deployment), values)
        program = Program(name, [*command, *extra], self.folder / f"{name}.log", self._tied)
        ready = answers_at(f"127.0.0.1:{probes}")
        self.components[name] = Component(program, ready, READY_SECONDS)


def on_one_machine(arguments: Sequence[str], values: dict[str, str]) -> list[str]:
    """The manifest's command line with the values of this machine in place of the cluster's."""
    kept = [
        argument for argument in arguments if argument.split("=", 1)[0] not in (*REPLACED, *DROPPED)
    ]
    if kept and Path(kept[0]).name.startswith("python"):
        kept[0] = sys.executable
    return kept + [f"{flag}={value}" for flag, value in values.items()]


def answers_at(address: str) -> ReadyCheck:
    """Whether the process whose probes are at that address is ready."""

    async def ready() -> bool:
        try:
            async with (
                aiohttp.ClientSession(timeout=PROBE) as session,
                session.get(f"http://{address}/readyz") as answer,
            ):
                return answer.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False

    return ready


async def install_gateway_kinds(plane: Plane) -> None:
    """Make the stand-ins for Istio's kinds and wait until they are served."""
    await plane.kubectl("apply", "-f", str(GATEWAY_KINDS))
    stems = (path.stem for path in sorted(GATEWAY_KINDS.glob("*.yaml")))
    await plane.crds_served(*(f"{stem}.networking.istio.io" for stem in stems))


async def served(plane: Plane, kinds: Iterable[Kind]) -> None:
    """Return when kinds can be listed: an established one may still be initialising its cache, and answers 429."""
    async with asyncio.timeout(SERVED_SECONDS):
        for kind in kinds:
            while not await _is_served(plane, kind):  # noqa: ASYNC110 - bounded polling at start-up
                await asyncio.sleep(0.1)


async def _is_served(plane: Plane, kind: Kind) -> bool:
    try:
        await plane.client().get(kind.path)
    except RequestRefused as refused:
        if refused.status not in (404, 429):
            raise
        return False
    return True


@contextlib.asynccontextmanager
async def product(
    plane: Plane,
    folder: Path,
    *,
    extra: Sequence[str] = (),
    before_start: Callable[[Plane], Awaitable[None]] | None = None,
) -> AsyncIterator[Product]:
    """Moonshift, installed and running; both processes end with the block."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    made = Product(plane, folder, free_ports(5))
    await made.install()
    if before_start is not None:
        await before_start(plane)
    try:
        await made.start(extra)
        yield made
    finally:
        await made.stop()
