"""Every field of the CRDs has an effect in every style, or its author gets a warning that it has none."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from controller.api.jsontree import JsonObject
from controller.api.rollout import BlueGreenStrategy, CanaryStrategy, Step, Strategy
from controller.api.validation import validate
from controller.api.validation.warnings import warnings

CRD = Path(__file__).parents[3] / "deploy" / "crds" / "rollouts.yaml"
STEP = {"replicas": "20%", "traffic": "20%"}
VALUES: dict[str, object] = {
    "steps": [STEP, {"replicas": "50%"}],
    "trafficRoutings": [{"service": "web", "gateway": {"httpRouteName": "web"}}],
    "failureThreshold": "10%",
    "progressDeadlineSeconds": 60,
    "onDeadlineExceeded": "Rollback",
    "patchPodTemplateMetadata": {"labels": {"a": "b"}},
    "enableExtraWorkloadForCanary": True,
    "trafficRoutingRef": "shared",
    "disableGenerateCanaryService": True,
    "analysis": {"metrics": [{"name": "errors"}]},
    "checks": [{"name": "change", "script": "servicenow"}],
}


def schema(*path: str) -> JsonObject:
    """The properties of a part of the stored version's spec."""
    (crd,) = yaml.safe_load_all(CRD.read_text())
    stored = next(v for v in crd["spec"]["versions"] if v["name"] == "v1beta1")
    part = stored["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for name in path:
        part = part["items"] if name == "[]" else part["properties"][name]
    found: JsonObject = part["properties"]
    return found


def rollout(style: str, kind: str = "Deployment", /, **fields: object) -> JsonObject:
    """A Rollout of that style with these fields."""
    plan = {"steps": [STEP], **fields}
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": kind, "name": "web"},
            "strategy": {style: plan},
        },
    }


def plan_of(obj: JsonObject) -> CanaryStrategy:
    spec: Any = obj["spec"]
    found = msgspec.json.decode(msgspec.json.encode(spec["strategy"]), type=Strategy).plan
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("style", "field"),
    [(style, field) for style in ("canary", "blueGreen") for field in schema("strategy", style)],
)
def test_every_field_of_a_style_reaches_the_plan(style: str, field: str) -> None:
    with_it, without = plan_of(rollout(style, **{field: VALUES[field]})), plan_of(rollout(style))
    given = msgspec.to_builtins(with_it)[field]
    assert given != msgspec.to_builtins(without).get(field)


def leaves(part: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every field without fields of its own, and a value that its schema takes and that is no default."""
    if part.get("type") == "array":
        yield from leaves(part["items"], (*path, "[]"))
    elif "properties" in part:
        for name, inner in part["properties"].items():
            yield from leaves(inner, (*path, name))
    else:
        yield path, a_value(part)


def a_value(part: Any) -> object:
    """A value of a field, other than its default."""
    if choices := [one for one in part.get("enum", ()) if one != part.get("default")]:
        return choices[0]
    if part.get("x-kubernetes-int-or-string"):
        return "30%"
    if "properties" in (each := part.get("additionalProperties", {})):
        return {"a": {name: a_value(inner) for name, inner in each["properties"].items()}}
    return {"boolean": True, "integer": 7, "number": 0.5, "string": "7s"}.get(
        part.get("type", ""), {"a": "b"}
    )


def put(path: tuple[str, ...], value: object) -> object:
    """A tree that has nothing but this value at this path."""
    if not path:
        return value
    inner = put(path[1:], value)
    return [inner] if path[0] == "[]" else {path[0]: inner}


def at(tree: Any, path: tuple[str, ...]) -> object:
    """The value at a path; None if the path ends earlier."""
    for name in path:
        if not tree:
            return None
        tree = tree[0] if name == "[]" else tree.get(name)
    return tree


@pytest.mark.parametrize(
    ("style", "path", "value"),
    [
        pytest.param(style, path, value, id=f"{style}.{'.'.join(path)}")
        for style in ("canary", "blueGreen")
        for path, value in leaves({"properties": schema("strategy", style)})
    ],
)
def test_every_leaf_of_a_style_reaches_the_plan(
    style: str, path: tuple[str, ...], value: object
) -> None:
    fields: Any = put(path, value)
    read = msgspec.json.decode(msgspec.json.encode(plan_of(rollout(style, **fields))))
    empty = msgspec.json.decode(msgspec.json.encode(plan_of(rollout(style))))
    assert at(read, path) == value
    assert at(empty, path) != value


def test_the_plan_knows_every_field_that_the_schema_has() -> None:
    for style, known in (("canary", CanaryStrategy), ("blueGreen", BlueGreenStrategy)):
        assert set(schema("strategy", style)) == set(known.__struct_encode_fields__)
        assert set(schema("strategy", style, "steps", "[]")) == set(Step.__struct_encode_fields__)


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (
            rollout("canary", "StatefulSet", enableExtraWorkloadForCanary=True),
            "enableExtraWorkloadForCanary has no effect here",
        ),
        (
            rollout("canary", patchPodTemplateMetadata={"labels": {"a": "b"}}),
            "patchPodTemplateMetadata has no effect here",
        ),
        (
            rollout(
                "blueGreen", steps=[{"replicas": 1, "requestHeaderModifier": {"remove": ["x"]}}]
            ),
            "requestHeaderModifier of step 1 has no effect",
        ),
    ],
)
def test_a_field_of_the_original_that_has_no_effect_is_accepted_with_a_warning(
    obj: JsonObject, expected: str
) -> None:
    assert validate(obj) == ()
    assert [text for text in warnings(obj) if text.startswith(expected)]


@pytest.mark.parametrize(
    "obj",
    [
        rollout(
            "canary",
            enableExtraWorkloadForCanary=True,
            patchPodTemplateMetadata={"labels": {"a": "b"}},
        ),
        rollout(
            "canary", patchPodTemplateMetadata={"labels": {"a": "b"}}, trafficRoutingRef="shared"
        ),
        rollout("blueGreen", steps=[{**STEP, "requestHeaderModifier": {"remove": ["x"]}}]),
        rollout("blueGreen", onDeadlineExceeded="Rollback", progressDeadlineSeconds=60),
    ],
)
def test_a_field_that_has_an_effect_is_not_warned_of(obj: JsonObject) -> None:
    assert validate(obj) == ()
    found = [one for one in warnings(obj) if "nothing routes the traffic" not in one]
    assert found == []


@pytest.mark.parametrize("style", ["canary", "blueGreen"])
def test_an_action_after_the_deadline_needs_a_deadline(style: str) -> None:
    (finding,) = validate(rollout(style, onDeadlineExceeded="Rollback"))
    assert str(finding).startswith(f"spec.strategy.{style}.onDeadlineExceeded: Invalid value")
    assert "set that, or leave this out" in str(finding)


@pytest.mark.parametrize("style", ["canary", "blueGreen"])
@pytest.mark.parametrize("traffic", ["20", 20])
def test_a_missing_percent_sign_is_explained(style: str, traffic: object) -> None:
    steps = [{"replicas": "20", "traffic": traffic}]
    found = [str(finding) for finding in validate(rollout(style, steps=steps))]
    replicas, share = found[-2:]
    assert replicas.endswith('; write "20%" for a share, or 20 without quotes for a number of pods')
    assert share.endswith('; write "20%" for a share')
    far = validate(rollout(style, steps=[{"replicas": "x", "traffic": "200"}]))
    assert not [finding for finding in far if "write" in str(finding)]
    (many,) = validate(rollout(style, steps=[{"replicas": "150"}]))
    assert str(many).endswith("; write 150 without quotes for a number of pods")
