"""The objects that every plane contains from the start: two nodes and the rights of its users.

Why it exists: an empty API server runs no pod and admits only members of `system:masters`. Invariant: making it twice
changes nothing. It must not contain anything of the product.
"""

import asyncio
from collections.abc import Sequence

from localcluster.api import ApiClient, JsonObject
from localcluster.errors import NotReady, RequestRefused
from localcluster.kubeconfig import OPERATORS, READERS

NODES = ("node-a", "node-b")
READY_SECONDS = 60.0
POLL_SECONDS = 0.03
RBAC = "/apis/rbac.authorization.k8s.io/v1"


async def furnish(client: ApiClient, nodes: Sequence[str] = NODES) -> None:
    """Make nodes, simulated ones, and roles."""
    reader = {
        "metadata": {"name": "localcluster:reader"},
        "rules": [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
            {"nonResourceURLs": ["*"], "verbs": ["get"]},
        ],
    }
    async with asyncio.TaskGroup() as group:
        for name in nodes:
            group.create_task(_ensure(client, "/api/v1/nodes", _node(name)))
        group.create_task(_ensure(client, f"{RBAC}/clusterroles", reader))
        for who, role in ((READERS, "localcluster:reader"), (OPERATORS, "cluster-admin")):
            group.create_task(_ensure(client, f"{RBAC}/clusterrolebindings", _binding(who, role)))


async def nodes_ready(client: ApiClient) -> None:
    """Return when all nodes are Ready."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            while not await _all_ready(client):  # noqa: ASYNC110 - bounded polling at start-up
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError as error:
        raise NotReady(f"the nodes are not Ready after {READY_SECONDS} s") from error


async def _all_ready(client: ApiClient) -> bool:
    nodes = (await client.get("/api/v1/nodes"))["items"]
    return bool(nodes) and all(map(_is_ready, nodes))


def _is_ready(node: JsonObject) -> bool:
    conditions = node.get("status", {}).get("conditions", ())
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _node(name: str) -> JsonObject:
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def _binding(group: str, role: str) -> JsonObject:
    api = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": group},
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": api, "kind": "Group", "name": group}],
    }


async def _ensure(client: ApiClient, path: str, body: JsonObject) -> None:
    try:
        await client.create(path, body)
    except RequestRefused as refused:
        if refused.status != 409:
            raise
