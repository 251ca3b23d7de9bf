"""A real gateway on a plane, of any vendor: the address where it takes requests, and the pods that get them.

Why it exists: only a proxy shows whether a share or a header rule holds, and whether a request is lost; a second
vendor's proxy shows mistakes that the first one forgives. Invariant: a gateway is made of published programs with their
published CRDs, and its settings are addresses only; it serves routes attached to the Gateway `GATEWAY` on 127.0.0.1.
Run it in the network namespace: its ports are fixed.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from localcluster.plane import Plane
from localcluster.traffic.pods import PORT as POD_PORT

NAMESPACE = "gateways"
GATEWAY = "public"
PORT = 8080
"""Where requests are taken."""
READY_SECONDS = 60.0
PROBE = aiohttp.ClientTimeout(total=10.0)
ANSWER = aiohttp.ClientTimeout(total=60.0)
"""How long a gateway under load may take to tell its configuration: it shares its processors with all requests."""
GATEWAY_API = "sigs.k8s.io/gateway-api"
GATEWAY_API_KINDS = "config/crd/experimental"

Shares = frozenset[tuple[tuple[str, float], ...]]
"""The rules of one host, each as Services with their parts; Services without a part are left out."""


class Gateway(ABC):
    """A running gateway; its processes are components of the plane."""

    controller: str
    """Its name in a GatewayClass."""
    listener: int
    """The port in its Gateway."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._folder = plane.layout.directory / "gateway"

    async def start(self) -> None:
        """Install the kinds and the Gateway, start pods' answers and the gateway's programs."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for file in self._kinds():
            await self._plane.kubectl("apply", "--server-side", "-f", str(file))
        await self._plane.crds_served()
        await self._plane.apply(yaml.safe_dump_all(self._objects()), server_side=True)
        await self.start_pods()
        await self._start_programs()

    def at_home(self, line: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command line that runs a program where the pods' addresses are."""
        return line

    async def start_pods(self) -> None:
        """Let the simulated pods answer."""
        pods = (
            sys.executable,
            "-m",
            "localcluster.traffic.pods",
            str(self._plane.kubeconfig("kwok")),
        )
        await self._plane.add("pods", pods, _pods_answer, READY_SECONDS)

    @abstractmethod
    async def shares(self, namespace: str, host: str) -> Shares:
        """Return what the proxy does for a host whose Services are in a namespace; empty if it does not know it."""

    def _objects(self) -> Iterable[dict[str, Any]]:
        """The objects that routes are attached to."""
        return gateway_objects(self.controller, self.listener)

    @abstractmethod
    def _kinds(self) -> Iterable[Path]:
        """The files with the definitions of the kinds that it reads."""

    @abstractmethod
    async def _start_programs(self) -> None:
        """Start it; return when it takes requests."""


def gateway_objects(controller: str, port: int, service: str = "") -> tuple[dict[str, Any], ...]:
    """Return the Gateway that routes are attached to, with its namespace and its class.

    `service` is the name in DNS of the proxy's Service, for a vendor that finds its proxies by it.
    """
    listener = {
        "name": "http",
        "protocol": "HTTP",
        "port": port,
        "allowedRoutes": {"namespaces": {"from": "All"}},
    }
    found_by = {"addresses": [{"type": "Hostname", "value": service}]} if service else {}
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "GatewayClass",
            "metadata": {"name": GATEWAY},
            "spec": {"controllerName": controller},
        },
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway",
            "metadata": {"name": GATEWAY, "namespace": NAMESPACE},
            "spec": {"gatewayClassName": GATEWAY, "listeners": [listener], **found_by},
        },
    )


def gateway_api_files(folder: Path) -> list[Path]:
    """Return the definitions of the Gateway API in a folder of its module."""
    return [path for path in sorted(folder.glob("*.yaml")) if path.name != "kustomization.yaml"]


def parts(weights: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """Return each Service with its part of a rule."""
    whole = sum(weights.values()) or 1
    return tuple(sorted((name, weight / whole) for name, weight in weights.items() if weight))


async def answers(url: str) -> bool:
    """Whether 200 is answered at a URL."""
    try:
        async with aiohttp.ClientSession(timeout=PROBE) as session, session.get(url) as answer:
            return answer.status == 200
    except (aiohttp.ClientError, TimeoutError):
        return False


async def _pods_answer() -> bool:
    return await answers(f"http://127.0.0.1:{POD_PORT}/")
