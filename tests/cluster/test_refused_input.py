"""Mistakes that admission can see: the message names the field and a remedy."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.errors import RequestRefused
from tests.cluster import manifests
from tests.cluster.kinds import ROLLOUTS, ROLLOUTS_V1ALPHA1, collection
from tests.cluster.manifests import Application, StepPlan

APP = Application(
    "shop", "", False, (StepPlan(1, 20), StepPlan(2, 50), StepPlan(4)), virtual_service=True
)
CANARY = "spec.strategy.canary"


def plan(body: JsonObject) -> JsonObject:
    found: JsonObject = body["spec"]["strategy"]["canary"]
    return found


def workload_kind(body: JsonObject) -> None:
    body["spec"]["workloadRef"] = {"apiVersion": "batch/v1", "kind": "Job", "name": "shop"}


def no_steps(body: JsonObject) -> None:
    plan(body)["steps"] = []


def traffic(text: str) -> Callable[[JsonObject], None]:
    def change(body: JsonObject) -> None:
        plan(body)["steps"][0]["traffic"] = text

    return change


def steps_down(body: JsonObject) -> None:
    plan(body)["steps"][1]["replicas"] = 3
    plan(body)["steps"][2]["replicas"] = 2


def nothing_leads(body: JsonObject) -> None:
    del plan(body)["trafficRoutings"][0]["customNetworkRefs"]


def no_service(body: JsonObject) -> None:
    plan(body)["trafficRoutings"][0]["service"] = ""


def negative_wait(body: JsonObject) -> None:
    plan(body)["trafficRoutings"][0]["gracePeriodSeconds"] = -1


def too_many_at_once(body: JsonObject) -> None:
    plan(body)["steps"][1]["replicas"] = "80%"


MISTAKES: dict[str, tuple[Callable[[JsonObject], None], str]] = {
    "a kind that is no workload": (workload_kind, "spec.workloadRef: Unsupported value"),
    "no steps": (no_steps, f"{CANARY}.steps: Required value"),
    "more than all traffic": (traffic("101%"), f"{CANARY}.steps[0].traffic: Invalid value"),
    "traffic that is no percentage": (traffic("many"), f"{CANARY}.steps[0].traffic"),
    "steps that go down": (steps_down, f"{CANARY}.steps[2].replicas: Invalid value: 2 after 3"),
    "traffic that nothing leads": (nothing_leads, f"{CANARY}.trafficRoutings[0]: Required value"),
    "no Service": (no_service, f"{CANARY}.trafficRoutings[0].service"),
    "a wait below zero": (negative_wait, f"{CANARY}.trafficRoutings[0].gracePeriodSeconds"),
    "too many pods of the workload itself": (
        too_many_at_once,
        f"{CANARY}.steps[1].replicas: Invalid value: 80% is more than 50%",
    ),
}


async def refusal(product: Product, path: str, body: JsonObject) -> str:
    """Why a Rollout is not created."""
    with pytest.raises(RequestRefused) as refused:
        await product.plane.client("developer").create(path, body)
    assert refused.value.status in (403, 422)
    return str(refused.value)


@pytest.mark.parametrize("name", MISTAKES)
async def test_a_rollout_is_refused_that_has(
    name: str, product: Product, namespace_of_product: str
) -> None:
    change, text = MISTAKES[name]
    body = manifests.rollout(replace(APP, namespace=namespace_of_product))
    change(body)
    assert text in await refusal(product, collection(ROLLOUTS, namespace_of_product), body)


@pytest.mark.parametrize("weight", [0, 101])
async def test_a_v1alpha1_weight_out_of_range_is_refused_in_its_own_words(
    weight: int, product: Product, namespace_of_product: str
) -> None:
    body = manifests.rollout_v1alpha1(replace(APP, namespace=namespace_of_product))
    step = plan(body)["steps"][0]
    step["weight"] = weight
    del step["replicas"]
    path = collection(ROLLOUTS_V1ALPHA1, namespace_of_product)
    assert f"{CANARY}.steps[0].weight: Invalid value" in await refusal(product, path, body)


async def test_a_second_rollout_of_a_workload_is_refused_and_names_the_first(
    product: Product, namespace_of_product: str
) -> None:
    path = collection(ROLLOUTS, namespace_of_product)
    first = manifests.rollout(replace(APP, namespace=namespace_of_product))
    await product.plane.client("developer").create(path, first)
    second = manifests.rollout(replace(APP, namespace=namespace_of_product))
    second["metadata"]["name"] = "another"
    reason = await refusal(product, path, second)
    assert "spec.workloadRef: Forbidden: Rollout shop releases Deployment shop already" in reason
