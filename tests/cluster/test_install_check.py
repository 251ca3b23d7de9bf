"""`moonshift install --check` on a real control plane: first without problems, then with problems that the test
creates."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from demo.stage import NAMESPACE, Product
from tests.cluster.conftest import fresh_namespace
from tests.cluster.manifests import Application, StepPlan, rollout

HOLDER = "/apis/apps/v1/namespaces/{}/deployments"


async def checked(product: Product, namespace: str, user: str = "admin") -> tuple[int, str]:
    """Exit code and output of the command."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "controller.cli.main", "install", "--check"),
        *("--kubeconfig", str(product.plane.kubeconfig(user)), "-o", "json"),
        *("--controller-namespace", namespace),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "COLUMNS": "200"},
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


async def findings(product: Product, namespace: str, user: str = "admin") -> list[str]:
    """The findings of the check, each with its level."""
    code, output = await checked(product, namespace, user)
    items: list[dict[str, Any]] = json.loads(output)["findings"]
    assert code == (1 if any(one["level"] == "problem" for one in items) else 0)
    return [f"{one['level']}: {one['what']}" for one in items]


@pytest.fixture
async def elsewhere(product: Product) -> AsyncIterator[str]:
    """Give a namespace in which nothing is installed."""
    async with fresh_namespace(product.plane) as name:
        yield name


async def test_an_installed_cluster_has_no_problem(product: Product) -> None:
    found = await findings(product, NAMESPACE)
    assert not [item for item in found if NAMESPACE in item or "you may not" in item], found


async def test_a_controller_in_another_namespace_is_a_problem(
    product: Product, elsewhere: str
) -> None:
    found = await findings(product, elsewhere)
    assert any(f"a controller is at work in namespace {NAMESPACE}" in item for item in found)


async def test_the_original_that_runs_and_a_namespace_of_others_are_named(
    product: Product, elsewhere: str
) -> None:
    labels = {"app": "original"}
    pod = {
        "serviceAccountName": "kruise-rollout-controller-manager",
        "containers": [{"name": "manager", "image": "openkruise/kruise-rollout:v0.6.1"}],
    }
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    await product.plane.client().create(
        HOLDER.format(elsewhere), {"metadata": {"name": "original"}, "spec": spec}
    )
    found = await findings(product, elsewhere)
    assert any(f"Deployment {elsewhere}/original runs openkruise/" in item for item in found)
    assert any(f"namespace {elsewhere} has no Pod Security level" in item for item in found)


async def test_a_gateway_kind_that_nobody_serves_is_named_with_the_rollout_that_wants_it(
    product: Product, namespace_of_product: str
) -> None:
    plan = (StepPlan(1, 20), StepPlan(2))
    app = Application("early", namespace_of_product, True, plan, virtual_service=True, replicas=2)
    body = rollout(app)
    routing = body["spec"]["strategy"]["canary"]["trafficRoutings"][0]
    routing["customNetworkRefs"] = [
        {"apiVersion": "lanes.example.dev/v1", "kind": "Lane", "name": "early"}
    ]
    path = f"/apis/rollouts.kruise.io/v1beta1/namespaces/{namespace_of_product}/rollouts"
    await product.plane.client().create(path, body)
    text = f"problem: Rollout {namespace_of_product}/early leads traffic with Lane (lanes.example.dev/v1)"
    assert any(one.startswith(text) for one in await findings(product, NAMESPACE))


async def test_the_rights_for_a_namespaces_script_are_named(
    product: Product, namespace_of_product: str
) -> None:
    plan = (StepPlan(1, 20), StepPlan(2))
    app = Application("own", namespace_of_product, True, plan, virtual_service=True, replicas=2)
    body = rollout(app)
    routing = body["spec"]["strategy"]["canary"]["trafficRoutings"][0]
    routing["customNetworkRefs"] = routing["customNetworkRefs"][:1]
    script = {"name": "scripts", "serviceAccountName": "router"}
    routing["customNetworkRefs"][0]["scriptRef"] = script
    path = f"/apis/rollouts.kruise.io/v1beta1/namespaces/{namespace_of_product}/rollouts"
    await product.plane.client().create(path, body)
    text = f"problem: Rollout {namespace_of_product}/own needs get"
    assert {one for one in await findings(product, NAMESPACE) if one.startswith(text)} == {
        (
            f"{text}, patch, update on virtualservices.networking.istio.io, which ServiceAccount "
            f"{namespace_of_product}/router does not have"
        ),
        f"{text}, list, watch on configmaps scripts, which the controller does not have",
    }


async def test_a_user_who_may_not_install_learns_the_missing_rights(product: Product) -> None:
    found = await findings(product, NAMESPACE, "recorder")
    assert "problem: you may not create clusterroles.rbac.authorization.k8s.io" in found
    assert f"problem: you may not create deployments.apps in {NAMESPACE}" in found
