"""Applications of the tests: real HTTP servers, and questions to them.

Why it exists: each test wants pods that answer with their version, and to ask from a pod. Invariant: manifests carry
no time limit of their own; questions go through the API server's proxy, so they work from outside the node's network.
"""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from localcluster.errors import RequestRefused
from localcluster.node.plane import NodePlane

IMAGE = "docker.io/library/greeter"
VERSIONS = ("v1", "v2")
PORT = 8080
FETCH_SECONDS = 90.0
PAUSE_SECONDS = 0.1


def deployment(
    name: str, replicas: int = 1, version: str = "v1", environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return a Deployment of the HTTP server."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(version, environment)},
        },
    }


def pod_spec(version: str, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the spec of a pod of the HTTP server; it is ready when it says so."""
    return {
        "terminationGracePeriodSeconds": 5,
        "containers": [
            {
                "name": "greeter",
                "image": f"{IMAGE}:{version}",
                # OpenKruise's webhooks would have it pulled always, and there is no registry.
                "imagePullPolicy": "IfNotPresent",
                "env": [{"name": k, "value": v} for k, v in (environment or {}).items()],
                "ports": [{"name": "http", "containerPort": PORT}],
                "readinessProbe": {
                    "httpGet": {"path": "/ready", "port": "http"},
                    "periodSeconds": 1,
                },
            }
        ],
    }


def service(name: str) -> dict[str, Any]:
    """Return a Service of the pods of the Deployment `name`, on port 80."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": "http"}]},
    }


async def fetch(node: NodePlane, namespace: str, service_name: str, url: str) -> str:
    """Return what a pod behind the Service gets when it asks for `url`.

    It is asked again while nobody answers: kube-proxy hears of endpoints after the Deployment is available, and nothing
    tells when it has written its rules.
    """
    path = f"/api/v1/namespaces/{namespace}/services/{service_name}:80/proxy/fetch"
    async with asyncio.timeout(FETCH_SECONDS):
        while True:
            try:
                return await node.client().text(f"{path}?url={quote(url, safe='')}")
            except RequestRefused as refused:
                if refused.status < 500:
                    raise
            await asyncio.sleep(PAUSE_SECONDS)
