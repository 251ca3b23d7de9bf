"""Metrics over TLS, asked for by accounts of a real API server: one that may read them, and others."""

import os
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from demo.stage import CONTROLLER, NAMESPACE, ROOT, Product
from localcluster.api import JsonObject
from localcluster.plane import Plane
from tests.cluster.secrecy import kept_product

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
AUTH_ROLE = "moonshift-metrics-auth-role"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{CONTROLLER}"
READER, STRANGER = "reader", "stranger"


def kustomization(folder: Path) -> str:
    """The kustomization of an administrator who adds the component to the installation."""
    install = os.path.relpath(ROOT / "deploy" / "kustomize", folder)
    return yaml.safe_dump(
        {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [install],
            "components": [f"{install}/secure-metrics"],
        }
    )


async def rendered(plane: Plane, folder: Path) -> list[JsonObject]:
    """The objects that `kubectl kustomize` makes of the kustomization."""
    (folder / "kustomization.yaml").write_text(kustomization(folder))
    text = await plane.kubectl("kustomize", str(folder))
    return [doc for doc in yaml.safe_load_all(text) if doc]


@pytest.fixture(scope="module")
async def secured(
    ground: Plane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Product]:
    """Give Moonshift with the component, two accounts, and the right of one of them."""
    documents = await rendered(ground, tmp_path_factory.mktemp("kustomization"))
    roles = [doc for doc in documents if doc["metadata"]["name"].startswith("moonshift-metrics")]
    assert len(roles) == 2
    await ground.apply(yaml.safe_dump_all(roles))
    (arguments,) = [
        doc["spec"]["template"]["spec"]["containers"][0]["args"]
        for doc in documents
        if doc["kind"] == "Deployment" and doc["metadata"]["name"] == CONTROLLER
    ]
    assert arguments[-1] == "--metrics-secure"
    folder = tmp_path_factory.mktemp("secure")
    async with kept_product(ground, folder, extra=("--metrics-secure",)) as product:
        for name in (READER, STRANGER):
            await ground.kubectl("create", "serviceaccount", name, "-n", NAMESPACE)
        await ground.kubectl(
            *("create", "clusterrolebinding", "prometheus-reads-moonshift"),
            "--clusterrole=moonshift-metrics-reader",
            f"--serviceaccount={NAMESPACE}:{READER}",
        )
        yield product


def trusting(product: Product) -> ssl.SSLContext:
    """The TLS context of a Prometheus that trusts the authority in the Secret."""
    (authority,) = (product.folder / "certificates").rglob("ca-cert.pem")
    return ssl.create_default_context(cafile=authority)


async def scraped(product: Product, token: str | None) -> tuple[int, str]:
    """One scrape: the code and the body."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(
            f"https://127.0.0.1:{product.controller_metrics}/metrics",
            headers=headers,
            ssl=trusting(product),
        ) as answer,
    ):
        return answer.status, await answer.text()


async def token_of(product: Product, account: str) -> str:
    return await product.plane.service_account_token(NAMESPACE, account)


async def test_an_account_with_the_right_reads_the_page(secured: Product) -> None:
    code, text = await scraped(secured, await token_of(secured, READER))
    assert code == 200
    families = {family.name for family in text_string_to_metric_families(text)}
    assert "moonshift_approvals" in families


async def test_another_account_is_refused_and_learns_which_role_it_needs(secured: Product) -> None:
    code, text = await scraped(secured, await token_of(secured, STRANGER))
    assert code == 403
    assert "moonshift-metrics-reader" in text
    assert "moonshift_" not in text


@pytest.mark.parametrize("token", [None, "", "forged", "a.b.c"])
async def test_a_client_without_a_token_of_this_cluster_reads_nothing(
    secured: Product, token: str | None
) -> None:
    code, text = await scraped(secured, token)
    assert code == 401
    assert "moonshift_" not in text


async def test_without_tls_nobody_is_answered(secured: Product) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientError):
            await session.get(f"http://127.0.0.1:{secured.controller_metrics}/metrics")


async def test_many_scrapes_ask_the_api_server_once(secured: Product) -> None:
    token = await token_of(secured, READER)
    mark = secured.plane.audit.mark()
    for _ in range(20):
        assert (await scraped(secured, token))[0] == 200
    asked = [
        record.resource
        for record in secured.plane.audit.since(mark, where=lambda r: r.user == ACCOUNT)
        if record.resource.endswith("reviews")
    ]
    assert sorted(asked) == ["subjectaccessreviews", "tokenreviews"]


async def test_without_the_right_to_ask_nobody_is_let_in(secured: Product) -> None:
    admin = secured.plane.client()
    role = await admin.get(f"{ROLES}/{AUTH_ROLE}")
    await admin.patch(f"{ROLES}/{AUTH_ROLE}", {"rules": []})
    try:
        code, text = 200, ""
        while code != 503:  # until the aggregated role has followed
            code, text = await scraped(secured, await token_of(secured, READER))
        assert "moonshift_" not in text
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{secured.controller_probes}/readyz?verbose") as answer,
        ):
            assert answer.status == 200
            assert "[~]metrics " in (page := await answer.text())
            assert "tokenreviews" in page
    finally:
        await admin.patch(f"{ROLES}/{AUTH_ROLE}", {"rules": role["rules"]})
