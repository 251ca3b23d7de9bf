"""A source of metrics for the real autoscaler of a plane: an aggregated API whose values the test sets.

It serves `external.metrics.k8s.io`, as KEDA and prometheus-adapter do, and `metrics.k8s.io`, as metrics-server does:
the load of a namespace is divided among the ready pods that a selector finds. Why an aggregated API: the autoscaler of
kube-controller-manager is then the real one, and no kubelet has to measure anything. Invariant: it listens on this
machine only, and knows nothing of releases.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import yaml
from aiohttp import web

from controller.certificates.authority import issue, new_authority
from localcluster.api import JsonObject
from localcluster.plane import Plane
from localcluster.startup import ExtraFlags
from tests.cluster.view import ready

SPACE = "metrics-of-a-test"
EXTERNAL, RESOURCES = "external.metrics.k8s.io", "metrics.k8s.io"
METRIC = "load"
SERVED_SECONDS = 60.0
FAST: ExtraFlags = {
    "kube-controller-manager": (
        "--horizontal-pod-autoscaler-sync-period=1s",
        "--horizontal-pod-autoscaler-cpu-initialization-period=1s",
        "--horizontal-pod-autoscaler-initial-readiness-delay=1s",
        "--horizontal-pod-autoscaler-downscale-stabilization=1s",
    )
}
"""Flags of a plane whose autoscaler looks every second, and does not wait before it scales in."""


class MetricsApi:
    """The values, in thousandths; `load` is by namespace."""

    def __init__(self, plane: Plane) -> None:
        self._client = plane.client()
        self.load: dict[str, int] = {}

    def app(self) -> web.Application:
        """The routes of both groups."""
        app = web.Application()
        app.router.add_get(f"/apis/{EXTERNAL}/v1beta1", _kinds(METRIC, "ExternalMetricValueList"))
        app.router.add_get(f"/apis/{RESOURCES}/v1beta1", _kinds("pods", "PodMetrics"))
        app.router.add_get(
            f"/apis/{EXTERNAL}/v1beta1/namespaces/{{space}}/{METRIC}", self._external
        )
        app.router.add_get(f"/apis/{RESOURCES}/v1beta1/namespaces/{{space}}/pods", self._pods)
        return app

    async def _external(self, request: web.Request) -> web.Response:
        value = self.load.get(request.match_info["space"], 0)
        item = {
            "metricName": METRIC,
            "metricLabels": {},
            "timestamp": _now(),
            "value": f"{value}m",
        }
        return _list(EXTERNAL, "ExternalMetricValueList", [item])

    async def _pods(self, request: web.Request) -> web.Response:
        space = request.match_info["space"]
        selector = request.query.get("labelSelector", "")
        path = f"/api/v1/namespaces/{space}/pods"
        found = (await self._client.get(path, labelSelector=selector))["items"]
        alive = [pod for pod in found if ready(pod)]
        each = self.load.get(space, 0) // max(len(alive), 1)
        return _list(RESOURCES, "PodMetricsList", [_usage(pod, each) for pod in alive])


def _usage(pod: JsonObject, thousandths: int) -> JsonObject:
    name = pod["spec"]["containers"][0]["name"]
    metadata = {key: pod["metadata"].get(key) for key in ("name", "namespace", "labels")}
    usage = {"cpu": f"{thousandths}m", "memory": "1Mi"}
    containers = [{"name": name, "usage": usage}]
    return {"metadata": metadata, "timestamp": _now(), "window": "1s", "containers": containers}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _list(group: str, kind: str, items: list[JsonObject]) -> web.Response:
    body = {"kind": kind, "apiVersion": f"{group}/v1beta1", "metadata": {}, "items": items}
    return web.json_response(body)


def _kinds(name: str, kind: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        group = request.path.split("/")[2]
        resource = {
            "name": name,
            "singularName": "",
            "namespaced": True,
            "kind": kind,
            "verbs": ["get"],
        }
        body = {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/v1beta1",
            "resources": [resource],
        }
        return web.json_response(body)

    return answer


@asynccontextmanager
async def metrics_api(plane: Plane, folder: Path) -> AsyncIterator[MetricsApi]:
    """Serve both groups on the plane for the length of a block."""
    made = MetricsApi(plane)
    runner = web.AppRunner(made.app())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=_tls(folder)).start()
    try:
        await plane.apply(yaml.safe_dump_all(_registration(runner.addresses[0][1])))
        async with asyncio.timeout(SERVED_SECONDS):
            for group in (EXTERNAL, RESOURCES):
                while not await _available(plane, group):  # noqa: ASYNC110 - bounded polling at start-up
                    await asyncio.sleep(0.1)
        yield made
    finally:
        await runner.cleanup()


def _tls(folder: Path) -> ssl.SSLContext:
    now = datetime.now(UTC)
    pair = issue(new_authority(now), ["localhost"], now)
    files = (folder / "metrics.crt", folder / "metrics.key")
    files[0].write_bytes(pair.certificate)
    files[1].write_bytes(pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    return context


def _registration(port: int) -> list[JsonObject]:
    """The Service leads to this machine by its name: no proxy of Services runs on the plane."""
    service = {"name": "metrics", "namespace": SPACE, "port": port}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "metrics", "namespace": SPACE},
            "spec": {
                "type": "ExternalName",
                "externalName": "localhost",
                "ports": [{"port": port}],
            },
        },
        *(
            {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": f"v1beta1.{group}"},
                "spec": {
                    "group": group,
                    "version": "v1beta1",
                    "service": service,
                    "insecureSkipTLSVerify": True,
                    "groupPriorityMinimum": 100,
                    "versionPriority": 100,
                },
            }
            for group in (EXTERNAL, RESOURCES)
        ),
    ]


async def _available(plane: Plane, group: str) -> bool:
    path = f"/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.{group}"
    status = (await plane.client().get(path)).get("status") or {}
    return any(
        one["type"] == "Available" and one["status"] == "True"
        for one in status.get("conditions") or ()
    )
