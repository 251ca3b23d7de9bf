"""Traefik: control plane and proxy in one process, without Envoy.

Why it exists: it takes Services in turn instead of at random, reads changes at most every two seconds, drops a route
over a Service without pods, and ranks rules by numbers; Envoy does none of these. Invariant: it runs with its own
defaults. It serves IngressRoutes and TraefikServices beside the Gateway API.
"""

from collections.abc import Iterable
from pathlib import Path

import aiohttp

from localcluster.api import JsonObject
from localcluster.compile import Program
from localcluster.extras import BuiltExtra, Extra, ensure_extra
from localcluster.plane import Plane
from localcluster.progress import Reporter
from localcluster.traffic.gateway import (
    ANSWER,
    GATEWAY_API,
    GATEWAY_API_KINDS,
    PORT,
    READY_SECONDS,
    Gateway,
    Shares,
    answers,
    gateway_api_files,
)
from localcluster.traffic.traefik_shares import Reading, endpoints_of

MODULE = "github.com/traefik/traefik/v3"
OWN_KINDS = "docs/content/reference/dynamic-configuration/kubernetes-crd-definition-v1.yml"
TRAEFIK = Extra(
    "traefik",
    Program(Path(__file__).parents[1] / "traefik", f"{MODULE}/cmd/traefik", "Traefik"),
    {GATEWAY_API: (GATEWAY_API_KINDS,), MODULE: (OWN_KINDS,)},
)
ENTRY_POINT = "web"
API_PORT = 8001


async def ensure_traefik(reporter: Reporter | None = None) -> BuiltExtra:
    """Return Traefik; the first call on a machine builds it."""
    return await ensure_extra(TRAEFIK, reporter)


class TraefikGateway(Gateway):
    """One Traefik."""

    controller = "traefik.io/gateway-controller"
    listener = PORT
    """Traefik looks for an entry point with the listener's port."""

    def __init__(self, plane: Plane, program: BuiltExtra) -> None:
        super().__init__(plane)
        self._program = program

    async def shares(self, namespace: str, host: str) -> Shares:
        """Return what Traefik does for a host."""
        path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
        slices = (await self._plane.client().get(path))["items"]
        return Reading(await self.configuration(), namespace, endpoints_of(slices)).shares(host)

    async def configuration(self) -> JsonObject:
        """Return Traefik's configuration in force: routers, services, servers."""
        async with (
            aiohttp.ClientSession(timeout=ANSWER) as session,
            session.get(f"http://127.0.0.1:{API_PORT}/api/rawdata") as answer,
        ):
            configuration: JsonObject = await answer.json()
            return configuration

    def _kinds(self) -> Iterable[Path]:
        yield from gateway_api_files(self._program.source(GATEWAY_API, GATEWAY_API_KINDS))
        yield self._program.source(MODULE, OWN_KINDS)

    async def _start_programs(self) -> None:
        line = (
            *("/usr/bin/env", f"KUBECONFIG={self._plane.kubeconfig('gateways')}"),
            str(self._program.binary),
            *("--global.checkNewVersion=false", "--global.sendAnonymousUsage=false"),
            f"--entryPoints.{ENTRY_POINT}.address=127.0.0.1:{PORT}",
            f"--entryPoints.traefik.address=127.0.0.1:{API_PORT}",
            *("--ping", "--log.level=WARN"),
            # A module of Go has no dashboard: it is built by other tools.
            *("--api.insecure", "--api.dashboard=false"),
            *("--providers.kubernetesGateway", "--providers.kubernetesCRD"),
        )
        await self._plane.add("traefik", self.at_home(line), _is_ready, READY_SECONDS)


async def _is_ready() -> bool:
    return await answers(f"http://127.0.0.1:{API_PORT}/ping")
