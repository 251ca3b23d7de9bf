"""A client that reaches the webhook port can forge a review: it gets an answer, and no object in the cluster
changes."""

import ssl
from typing import Any

import aiohttp
import pytest

from controller.api.names import CONTROLLER_ACCOUNT, WORKLOAD_TYPE
from demo.stage import NAMESPACE, Product

Json = dict[str, Any]
OWN = f"system:serviceaccount:{NAMESPACE}:{CONTROLLER_ACCOUNT}"


def forged(kind: str, name: str, namespace: str) -> Json:
    """The review of a new Rollout that nobody wrote."""
    rollout = {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": "forged", "namespace": namespace},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": kind, "name": name},
            "strategy": {"canary": {"steps": [{"replicas": 1}]}},
        },
    }
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "forged",
            "operation": "CREATE",
            "namespace": namespace,
            "name": "forged",
            "userInfo": {"username": "system:admin"},
            "object": rollout,
        },
    }


async def post(product: Product, path: str, body: Json) -> Json:
    """Call the webhook as any pod can: over TLS, without a certificate."""
    blind = ssl.create_default_context()
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    url = f"https://127.0.0.1:{product.webhook_port}{path}"
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=blind)) as session,
        session.post(url, json=body) as response,
    ):
        assert response.status == 200, await response.text()
        found: Json = await response.json()
        return found


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
async def test_a_forged_review_writes_nothing(
    product: Product, namespace_of_product: str, operation: str
) -> None:
    client = product.plane.client()
    deployments = f"/apis/apps/v1/namespaces/{namespace_of_product}/deployments"
    labels = {"app": "coredns"}
    body: Json = {
        "metadata": {"name": "coredns"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "coredns:1"}]},
            },
        },
    }
    await client.create(deployments, body)
    mark = product.plane.audit.mark()
    review = forged("Deployment", "coredns", namespace_of_product)
    review["request"]["operation"] = operation
    answer = await post(product, "/validate-rollouts-kruise-io-rollout", review)
    assert answer["response"]["allowed"] is True
    written = [
        f"{one.verb} {one.uri}"
        for one in product.plane.audit.since(mark)
        if one.user == OWN and one.is_write and one.namespace == namespace_of_product
    ]
    assert written == []
    seen = await client.get(f"{deployments}/coredns")
    assert WORKLOAD_TYPE not in seen["metadata"].get("labels", {})
