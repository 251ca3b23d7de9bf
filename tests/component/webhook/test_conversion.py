"""One object that cannot be converted fails no list, and no annotation brings in what the schema refuses."""

import json
from typing import Any

import msgspec
import pytest

from controller.api.conversion import converted
from controller.api.depth import DEEPEST
from controller.api.names import KEPT_V1BETA1, NOT_CONVERTED, V1ALPHA1, V1BETA1
from controller.kube.nesting import read_around
from controller.webhook.conversion import convert
from controller.webhook.review import ConversionReview
from controller.webhook.trees import MOST_VALUES, check_page

WORKLOAD = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
_read = msgspec.json.Decoder(ConversionReview).decode


def stored(name: str = "web", **canary: object) -> dict[str, Any]:
    """A v1beta1 Rollout."""
    plan = {"steps": [{"replicas": "20%"}], **canary}
    return {
        "apiVersion": V1BETA1,
        "kind": "Rollout",
        "metadata": {"name": name, "annotations": {"mine": "1"}},
        "spec": {"workloadRef": WORKLOAD, "strategy": {"canary": plan}},
    }


async def answer(version: str, *objects: object) -> dict[str, Any]:
    request = {"uid": "u", "desiredAPIVersion": version, "objects": objects}
    body = msgspec.json.encode({"request": request})
    review, _ = await read_around(_read, body.replace(b'"DEEP"', DEEP))
    found: dict[str, Any] = json.loads(convert(review))["response"]
    return found


DEEP = b"[" * 9_000 + b"]" * 9_000
LESS_DEEP: list[Any] = []
for _ in range(DEEPEST):
    LESS_DEEP = [LESS_DEEP]


def with_params(value: object) -> list[object]:
    return [{"service": "web", "ingress": {"name": "web", "params": {"a": value}}}]


@pytest.mark.parametrize(
    "routings",
    [with_params("DEEP"), with_params(LESS_DEEP), with_params([0] * (MOST_VALUES + 1))],
    ids=["deeper than the decoder", "deeper than we walk", "too many values"],
)
async def test_one_object_that_cannot_be_converted_fails_no_list(routings: list[object]) -> None:
    found = await answer(V1ALPHA1, stored(), stored("bad", trafficRoutings=routings), stored("c"))
    assert found["result"] == {"status": "Success"}
    names = [one["metadata"]["name"] for one in found["convertedObjects"]]
    assert names == ["web", "bad", "c"]
    bad = found["convertedObjects"][1]
    assert bad["apiVersion"] == V1ALPHA1
    assert bad["spec"] == {"objectRef": {"workloadRef": WORKLOAD}}
    assert bad["metadata"]["annotations"].keys() == {"mine", NOT_CONVERTED}


async def test_commas_in_a_text_are_no_values() -> None:
    much = stored()
    much["metadata"]["annotations"]["mine"] = "," * 250_000
    request = {"uid": "u", "desiredAPIVersion": V1ALPHA1, "objects": [much]}
    check_page(memoryview(msgspec.json.encode({"request": request})))
    found = await answer(V1ALPHA1, much)
    assert "strategy" in found["convertedObjects"][0]["spec"]


async def test_an_object_without_its_plan_is_never_stored() -> None:
    deep = stored("bad", trafficRoutings=with_params(LESS_DEEP))
    shown = (await answer(V1ALPHA1, deep))["convertedObjects"][0]
    refused = await answer(V1BETA1, shown)
    assert refused["convertedObjects"] == []
    assert "this is not the whole object" in refused["result"]["message"]


async def test_a_forged_mark_fails_no_list() -> None:
    forged = stored()
    forged["metadata"]["annotations"][NOT_CONVERTED] = "x"
    found = await answer(V1ALPHA1, forged)
    assert found["result"] == {"status": "Success"}
    assert NOT_CONVERTED not in found["convertedObjects"][0]["metadata"]["annotations"]


async def test_a_write_that_cannot_be_converted_is_refused_in_words() -> None:
    old = {
        "apiVersion": V1ALPHA1,
        "kind": "Rollout",
        "metadata": {"name": "web"},
        "spec": {"objectRef": {"workloadRef": WORKLOAD}, "else": LESS_DEEP},
    }
    refused = await answer(V1BETA1, old)
    assert refused["result"]["message"] == (
        "the object is nested deeper than 100 levels: make it flatter"
    )


def kept(spec: dict[str, Any]) -> dict[str, Any]:
    """A v1alpha1 Rollout whose annotation says that it is this v1beta1 one."""
    whole = {**stored(), "spec": spec}
    shown: dict[str, Any] = json.loads(json.dumps(converted(whole, V1ALPHA1)))
    tree = {"annotations": {}, "spec": spec}
    shown["metadata"]["annotations"][KEPT_V1BETA1] = json.dumps(tree)
    return shown


def matching(**match: object) -> dict[str, Any]:
    steps = [{"replicas": "20%", "matches": [{"headers": [], **match}]}]
    spec: dict[str, Any] = stored(steps=steps)["spec"]
    return spec


def blue_green(**fields: object) -> dict[str, Any]:
    plan = {"steps": [{"replicas": "100%"}], **fields}
    return {"workloadRef": WORKLOAD, "strategy": {"blueGreen": plan}}


@pytest.mark.parametrize(
    ("spec", "added"),
    [
        (matching(path={"type": "Exact", "value": "/a"}), True),
        (matching(path={"type": "Else", "value": "/a"}), False),
        (matching(method="a/../b"), False),
        (blue_green(progressDeadlineSeconds=60), True),
        (blue_green(progressDeadlineSeconds=10**18), False),
        (blue_green(progressDeadlineSeconds=0), False),
        (blue_green(onDeadlineExceeded="Explode"), False),
        (blue_green(analysis={"metrics": [{"name": "a/b"}]}), False),
    ],
)
async def test_an_annotation_adds_only_what_the_schema_takes(
    spec: dict[str, Any], added: bool
) -> None:
    found = await answer(V1BETA1, kept(spec))
    assert (found["convertedObjects"][0]["spec"] == spec) is added
