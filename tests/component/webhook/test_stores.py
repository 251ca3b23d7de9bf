"""Secrets of certificates on the API server: their data is replaced; labels, owners and types of others stay."""

import base64

from controller.webhook.stores import KubeSecrets
from tests.component.kube.faulty_server import FaultyServer, answering, connected


async def test_a_replaced_secret_keeps_its_type_and_the_marks_of_its_owner() -> None:
    """Another tool may have made it, as `kubernetes.io/tls`: the API server refuses another type."""
    labels = {"team": "security"}
    metadata = {"name": "s", "namespace": "ms", "resourceVersion": "7", "labels": labels}
    data = {"theirs": base64.b64encode(b"x").decode()}
    secret = {"type": "kubernetes.io/tls", "metadata": metadata, "data": data}
    server = FaultyServer(others=[answering(200, secret)])
    async with server.running(), connected(server) as client:
        await KubeSecrets(client, "ms").replace("s", {"ca.crt": b"y"}, "6")
    written = server.requests[1]
    assert (written.method, written.path) == ("PUT", "/api/v1/namespaces/ms/secrets/s")
    assert written.json()["type"] == "kubernetes.io/tls"
    assert written.json()["metadata"] == {**metadata, "resourceVersion": "6"}
    assert written.json()["data"] == {"ca.crt": base64.b64encode(b"y").decode()}
