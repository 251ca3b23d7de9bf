"""Contour as the control plane, Envoy as the data plane.

Why it exists: routes and backends reach Envoy by separate streams, so a request that is lost between two writes is lost
here, too. Invariant: Envoy retries nothing. It serves HTTPProxies beside the Gateway API.
"""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from localcluster.compile import Program
from localcluster.errors import CommandFailed
from localcluster.extras import BuiltExtra, Extra, ensure_extra
from localcluster.plane import Plane
from localcluster.progress import Reporter, SilentReporter
from localcluster.traffic.envoy import FLAGS, ask, ensure_envoy, is_live
from localcluster.traffic.gateway import (
    GATEWAY,
    GATEWAY_API,
    GATEWAY_API_KINDS,
    NAMESPACE,
    PORT,
    READY_SECONDS,
    Gateway,
    Shares,
    gateway_api_files,
    parts,
)

MODULE = "github.com/projectcontour/contour"
OWN_KINDS = "examples/contour/01-crds.yaml"
CONTOUR = Extra(
    "contour",
    Program(Path(__file__).parents[1] / "contour", f"{MODULE}/cmd/contour", "Contour"),
    {GATEWAY_API: (GATEWAY_API_KINDS,), MODULE: (OWN_KINDS,)},
)
XDS_PORT, HEALTH_PORT, METRICS_PORT = 8001, 8000, 8012


@dataclass(frozen=True, slots=True)
class ContourPrograms:
    """Contour and Envoy."""

    contour: BuiltExtra
    envoy: Path


async def ensure_contour(reporter: Reporter | None = None) -> ContourPrograms:
    """Return Contour and Envoy; the first call on a machine builds Contour and installs Envoy."""
    reporter = reporter or SilentReporter()
    contour = await ensure_extra(CONTOUR, reporter)
    return ContourPrograms(contour, await ensure_envoy(reporter))


class ContourGateway(Gateway):
    """Contour, and Envoy that it leads."""

    controller = "projectcontour.io/gateway-controller"
    listener = 80
    """Contour adds 8000 to it."""

    def __init__(self, plane: Plane, programs: ContourPrograms) -> None:
        super().__init__(plane)
        self._programs = programs
        self._admin = self._folder / "admin.sock"

    async def shares(self, namespace: str, host: str) -> Shares:
        """Return what Envoy does for a host; its clusters' names say of which namespace they are."""
        return shares_in_envoy(await self.routes(), host)

    async def configuration(self) -> dict[str, Any]:
        """Return Envoy's configuration in force: listeners, routes, clusters, endpoints."""
        answer: dict[str, Any] = json.loads(await ask(self._admin, "/config_dump?include_eds"))
        return answer

    async def routes(self) -> list[dict[str, Any]]:
        """Return the route configurations that are in force in Envoy."""
        dump = await self.configuration()
        return [
            entry["route_config"]
            for section in dump["configs"]
            for entry in section.get("dynamic_route_configs", ())
        ]

    def _kinds(self) -> Iterable[Path]:
        contour = self._programs.contour
        yield from gateway_api_files(contour.source(GATEWAY_API, GATEWAY_API_KINDS))
        yield contour.source(MODULE, OWN_KINDS)

    async def _start_programs(self) -> None:
        contour = self.at_home(self._contour_line())
        await self._plane.add("contour", contour, self.contour_ready, READY_SECONDS)
        bootstrap = await self._bootstrap()
        envoy = (
            *(str(self._programs.envoy), "-c", str(bootstrap), "--service-cluster", "contour"),
            *("--service-node", "envoy", *FLAGS),
        )
        await self._plane.add("envoy", self.at_home(envoy), self._envoy_ready, READY_SECONDS)

    def _contour_line(self) -> tuple[str, ...]:
        configuration = self._folder / "contour.yaml"
        reference = {"gateway": {"gatewayRef": {"namespace": NAMESPACE, "name": GATEWAY}}}
        configuration.write_text(yaml.safe_dump(reference))
        return (
            *(str(self._programs.contour.binary), "serve", "--insecure"),
            *("--disable-leader-election", f"--config-path={configuration}"),
            f"--kubeconfig={self._plane.kubeconfig('gateways')}",
            *("--xds-address=127.0.0.1", f"--xds-port={XDS_PORT}"),
            *("--http-address=127.0.0.1", f"--http-port={METRICS_PORT}"),
            *("--health-address=127.0.0.1", f"--health-port={HEALTH_PORT}"),
            *("--envoy-service-http-address=127.0.0.1", f"--envoy-service-http-port={PORT}"),
            *("--kubernetes-client-qps=500", "--kubernetes-client-burst=1000"),
        )

    async def _bootstrap(self) -> Path:
        target = self._folder / "envoy.json"
        process = await asyncio.create_subprocess_exec(
            *(str(self._programs.contour.binary), "bootstrap", str(target)),
            *(f"--admin-address={self._admin}", "--xds-address=127.0.0.1"),
            *(f"--xds-port={XDS_PORT}", "--xds-resource-version=v3", f"--namespace={NAMESPACE}"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, errors = await process.communicate()
        if process.returncode != 0:
            raise CommandFailed(f"contour bootstrap: {errors.decode()[-2000:]}")
        return target

    async def contour_ready(self) -> bool:
        """Contour takes proxies when it has read all objects once."""
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", XDS_PORT)
        except OSError:
            return False
        writer.close()
        return True

    async def _envoy_ready(self) -> bool:
        return await is_live(self._admin)


def shares_in_envoy(configurations: list[dict[str, Any]], host: str) -> Shares:
    """Return what Envoy does for a host; empty if it does not know it."""
    actions = [
        route["route"]
        for configuration in configurations
        for virtual_host in configuration.get("virtual_hosts", ())
        if host in virtual_host["domains"]
        for route in virtual_host["routes"]
        if "route" in route
    ]
    return frozenset(parts(_clusters(action)) for action in actions)


def _clusters(action: dict[str, Any]) -> dict[str, float]:
    """Contour names a cluster namespace/service/port/hash."""
    if "cluster" in action:
        return {action["cluster"].split("/")[1]: 1}
    clusters = action["weighted_clusters"]["clusters"]
    return {entry["name"].split("/")[1]: entry["weight"] for entry in clusters}
