"""`--webhook-client-ca`: an API server that presents its certificate is answered; a client without one is refused.

The API server is set up with the two files of docs/operations.md, as they stand there; only folders and the name of the
webhook server are this machine's.
"""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
import yaml

from controller.certificates.authority import issue, new_authority
from demo.stage import Product
from localcluster.errors import RequestRefused
from localcluster.plane import Plane
from localcluster.ports import free_ports
from tests.cluster import manifests
from tests.cluster.conftest import fresh_namespace
from tests.cluster.kinds import DEPLOYMENTS, ROLLOUTS, ROLLOUTS_V1ALPHA1, collection
from tests.cluster.manifests import Application, StepPlan

DOCUMENT = Path(__file__).parents[2] / "docs" / "operations.md"
SERVICE = "kruise-rollout-webhook-service.kruise-rollout.svc"


def documented(folder: Path, server: str) -> tuple[Path, ...]:
    """The two files, with the folder of this machine."""
    section = (
        DOCUMENT.read_text().partition("## Who may call the webhook\n")[2].partition("\n## ")[0]
    )
    blocks = re.findall(r"```yaml\n(.*?)```", section, flags=re.DOTALL)
    names = ("admission.yaml", "webhooks.kubeconfig")
    files = tuple(folder / name for name in names)
    for file, block in zip(files, blocks, strict=True):
        file.write_text(block.replace("/etc/kubernetes/", f"{folder}/").replace(SERVICE, server))
    return files


@pytest.fixture(scope="module")
async def guarded(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Product]:
    """Moonshift on a plane whose API server calls webhooks with a client certificate."""
    folder = tmp_path_factory.mktemp("guarded")
    clients, now = new_authority(datetime.now(UTC)), datetime.now(UTC)
    pair = issue(clients, ["kube-apiserver"], now, client=True)
    (folder / "pki").mkdir()
    (folder / "clients.crt").write_bytes(clients.certificate)
    (folder / "pki" / "webhook-client.crt").write_bytes(pair.certificate)
    (folder / "pki" / "webhook-client.key").write_bytes(pair.key)
    ports = free_ports(5)
    configuration, _ = documented(folder, f"127.0.0.1:{ports[0]}")
    flags = {"kube-apiserver": [f"--admission-control-config-file={configuration}"]}
    async with Plane.start(folder / "plane", extra_flags=flags) as plane:
        await plane.apply(yaml.safe_dump_all(manifests.nodes()))
        product = Product(plane, folder, ports)
        await product.install()
        try:
            await product.start([f"--webhook-client-ca={folder / 'clients.crt'}"])
            yield product
        finally:
            await product.stop()


def application(namespace: str) -> Application:
    return Application("shop", namespace, False, (StepPlan(1), StepPlan(4)))


async def test_reviews_of_an_api_server_with_its_certificate_are_answered(guarded: Product) -> None:
    client = guarded.plane.client("developer")
    async with fresh_namespace(guarded.plane) as namespace:
        app = application(namespace)
        path = collection(DEPLOYMENTS, namespace)
        await client.create(path, manifests.deployment(app))
        async with guarded.plane.recorder(ROLLOUTS) as recorder:
            await client.create(collection(ROLLOUTS, namespace), manifests.rollout(app))
            await recorder.until(
                lambda c: (
                    c.object.get("status", {}).get("phase") == "Healthy"
                    and c.key.namespace == namespace
                )
            )
        template = {"spec": {"containers": [{"name": "main", "image": "shop:v2"}]}}
        changed = await client.patch(f"{path}/shop", {"spec": {"template": template}})
        assert changed["spec"]["paused"] is True, "held by the webhook, in the answer itself"
        second = manifests.rollout(app)
        second["metadata"]["name"] = "second"
        with pytest.raises(RequestRefused, match="Rollout shop releases Deployment shop already"):
            await client.create(collection(ROLLOUTS, namespace), second)


async def test_a_review_without_a_certificate_is_refused_and_conversion_stays_open(
    guarded: Product,
) -> None:
    address = f"https://127.0.0.1:{guarded.webhook_port}"
    paths = ("/validate-rollouts-kruise-io-rollout", "/mutate-apps-v1-deployment")
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as stranger:
        for path in paths:
            async with stranger.post(address + path, json={}) as answer:
                assert answer.status == 403, path
    async with fresh_namespace(guarded.plane) as namespace:
        client = guarded.plane.client("developer")
        await client.create(
            collection(ROLLOUTS, namespace), manifests.rollout(application(namespace))
        )
        older = await client.get(f"{collection(ROLLOUTS_V1ALPHA1, namespace)}/shop")
        assert older["spec"]["objectRef"]["workloadRef"]["name"] == "shop"
