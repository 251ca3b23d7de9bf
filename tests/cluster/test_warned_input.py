"""The warnings to the author of a Rollout about the objects it names, by kubectl on a real control plane."""

import json
from dataclasses import replace

import pytest

from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.errors import CommandFailed
from tests.cluster import manifests
from tests.cluster.manifests import Application, StepPlan

APP = Application("shop", "", False, (StepPlan(1, 20), StepPlan(2, 50)), virtual_service=True)
PLACE = "spec.strategy.canary.trafficRoutings[0]"


async def warned(product: Product, body: JsonObject) -> str:
    """The error output of kubectl when an object is created, and admission has warnings."""
    with pytest.raises(CommandFailed) as caught:
        await product.plane.kubectl(
            "create",
            "--dry-run=server",
            "--warnings-as-errors",
            "-f",
            "-",
            user="developer",
            input=json.dumps(body),
        )
    return str(caught.value)


async def apply(product: Product, *bodies: JsonObject) -> None:
    for body in bodies:
        await product.plane.apply(json.dumps(body))


@pytest.mark.parametrize("older", [False, True], ids=["v1beta1", "v1alpha1"])
async def test_names_that_do_not_exist_are_warnings_in_the_words_of_the_author(
    older: bool, product: Product, namespace_of_product: str
) -> None:
    app = replace(APP, namespace=namespace_of_product)
    body = manifests.rollout_v1alpha1(app) if older else manifests.rollout(app)
    lines = await warned(product, body)
    here = f"{namespace_of_product}/{app.name} does not exist: create it"
    workload = "spec.objectRef.workloadRef" if older else "spec.workloadRef"
    assert f"Warning: {workload}: Deployment {here}" in lines
    assert f"Warning: {PLACE}.service: Service {here}" in lines
    assert f"Warning: {PLACE}.customNetworkRefs[0]: VirtualService {here}" in lines


async def test_everything_applied_at_once_is_no_warning(
    product: Product, namespace_of_product: str
) -> None:
    app = replace(APP, namespace=namespace_of_product)
    every = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [*manifests.objects(app), manifests.rollout(app)],
    }
    await product.plane.kubectl(
        "apply", "--warnings-as-errors", "-f", "-", user="developer", input=json.dumps(every)
    )


async def test_a_service_that_cannot_lead_is_a_warning_as_in_a_release(
    product: Product, namespace_of_product: str
) -> None:
    app = replace(APP, namespace=namespace_of_product)
    service = manifests.service(app)
    elsewhere = {**service, "spec": {**service["spec"], "selector": {"app": "elsewhere"}}}
    await apply(product, *manifests.objects(app), elsewhere)
    lines = await warned(product, manifests.rollout(app))
    named = f"Warning: {PLACE}.service: Service {namespace_of_product}/{app.name}"
    assert f"{named}: its selector app=elsewhere matches no pod of Deployment" in lines
    path = f"/api/v1/namespaces/{namespace_of_product}/services/{app.name}"
    await product.plane.client().patch(path, {"spec": {"selector": None}})
    lines = await warned(product, manifests.rollout(app))
    assert f"{named} has no selector, so its endpoints are written by somebody else" in lines
