"""Moonshift on a local control plane: installed from its manifests, its two processes started by hand.

Why by hand: the local cluster has no kubelet. Invariant: the processes run with the commands, arguments and
ServiceAccount rights of the manifests in `deploy/kustomize/local`; only the arguments in `REPLACED` and
`DROPPED` differ, because processes on one machine share its ports and files. Used by the demo, by cluster tests and by benches.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from localcluster.plane import Plane
from localcluster.ports import free_ports
from localcluster.process import Component, Program

ROOT = Path(__file__).resolve().parent.parent
OVERLAY = ROOT / "deploy" / "kustomize" / "local"
CRDS = ROOT / "deploy" / "crds"
NAMESPACE = "kruise-rollout"
CONTROLLER = "kruise-rollout-controller-manager"
WORKER = "moonshift-luaworker"
READY_SECONDS = 60.0

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
DROPPED = ("--tls-dir", "--lua-worker-tls-dir")
"""Arguments that are left out: controller and worker share a Unix socket."""


class Product:
    """The controller and the worker on a plane, with their addresses."""

    def __init__(self, plane: Plane, folder: Path, ports: Sequence[int]) -> None:
        self.plane = plane
        self.folder = folder
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

    async def install(self) -> None:
        """Apply the manifests: CRDs, rights, webhook configurations, Deployments of no replicas."""
        await self.plane.kubectl("apply", "--server-side", "-f", str(CRDS))
        rendered = await self.plane.kubectl("kustomize", str(OVERLAY))
        self.manifests = [doc for doc in yaml.safe_load_all(rendered) if doc]
        await self.plane.apply(rendered, server_side=True)
        await self.plane.kubectl(
            "wait", "--for=condition=Established", "--timeout=30s",
            "crd/rollouts.rollouts.kruise.io",
        )  # fmt: skip

    async def start(self, extra: Sequence[str] = ()) -> None:
        """Start both processes and wait until they are ready."""
        token = await self.plane.service_account_token(NAMESPACE, CONTROLLER)
        kubeconfig = self.plane.kubeconfig_for_token("controller", token)
        worker = {
            "--listen": f"unix://{self.socket}",
            "--metrics-bind-address": f"127.0.0.1:{self.worker_metrics}",
            "--health-probe-bind-address": f"127.0.0.1:{self.worker_probes}",
        }
        controller = {
            "--kubeconfig": str(kubeconfig),
            "--lua-worker": f"unix://{self.socket}",
            "--webhook-port": str(self.webhook_port),
            "--webhook-url": f"https://127.0.0.1:{self.webhook_port}",
            "--webhook-cert-dir": str(self.folder / "certificates"),
            "--metrics-bind-address": f"127.0.0.1:{self.controller_metrics}",
            "--health-probe-bind-address": f"127.0.0.1:{self.controller_probes}",
        }
        self._add("luaworker", WORKER, worker, self.worker_probes)
        self._add("controller", CONTROLLER, controller, self.controller_probes, extra)
        await asyncio.gather(*(part.start() for part in self.components.values()))

    async def stop(self) -> None:
        """End both processes."""
        for part in reversed(tuple(self.components.values())):
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
        program = Program(name, [*command, *extra], self.folder / f"{name}.log")
        self.components[name] = Component(program, _answers(probes), READY_SECONDS)


def on_one_machine(arguments: Sequence[str], values: dict[str, str]) -> list[str]:
    """The manifest's command line with the values of this machine in place of the cluster's."""
    kept = [
        argument for argument in arguments if argument.split("=", 1)[0] not in (*REPLACED, *DROPPED)
    ]
    if kept and Path(kept[0]).name.startswith("python"):
        kept[0] = sys.executable
    return kept + [f"{flag}={value}" for flag, value in values.items()]


def _answers(port: int) -> Any:
    async def ready() -> bool:
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://127.0.0.1:{port}/readyz") as answer,
            ):
                return answer.status == 200
        except aiohttp.ClientError:
            return False

    return ready


@contextlib.asynccontextmanager
async def product(
    plane: Plane, folder: Path, *, extra: Sequence[str] = ()
) -> AsyncIterator[Product]:
    """Moonshift, installed and running; both processes end with the block."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    made = Product(plane, folder, free_ports(5))
    await made.install()
    try:
        await made.start(extra)
        yield made
    finally:
        await made.stop()
