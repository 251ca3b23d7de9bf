"""Secrets of certificates on the API server: their data is replaced; labels, owners and types of others stay."""

import base64
from typing import Any

import msgspec

from controller.kube.resources import Resource
from controller.webhook.stores import KubeSecrets


class OneSecret:
    """An API server with one Secret."""

    def __init__(self, secret: dict[str, Any]) -> None:
        self.secret = secret

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        return msgspec.json.encode(self.secret)

    async def replace(self, resource: Resource, namespace: str, name: str, body: bytes) -> bytes:
        self.secret = msgspec.json.decode(body)
        return body


async def test_a_replaced_secret_keeps_its_type_and_the_marks_of_its_owner() -> None:
    """Another tool may have made it, as `kubernetes.io/tls`: the API server refuses another type."""
    metadata = {"name": "s", "resourceVersion": "7", "labels": {"team": "security"}}
    data = {"theirs": base64.b64encode(b"x").decode()}
    server: Any = OneSecret({"type": "kubernetes.io/tls", "metadata": metadata, "data": data})
    await KubeSecrets(server, "ms").replace("s", {"ca.crt": b"y"}, "6")
    assert server.secret["type"] == "kubernetes.io/tls"
    assert server.secret["metadata"] == {**metadata, "resourceVersion": "6"}
    assert server.secret["data"] == {"ca.crt": base64.b64encode(b"y").decode()}
