"""The Ingress script: actions and conditions in annotations."""

import json
from typing import Any

import pytest

from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import Worker
from tests.unit.lua_configuration.cases import packaged, step_obj
from tests.unit.lua_configuration.running import (
    header,
    original_of,
    path,
    query,
    refused,
    script_of,
)

KIND = "networking.k8s.io/Ingress"
PREFIX = "alb.ingress.kubernetes.io"
AWS = {"controller": "aws"}
BETA = header("x-user-group", "beta")
SPEC = """
rules:
- host: a.example.com
  http:
    paths: [{path: /a, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]
"""
TWO_PORTS = """
rules:
- http:
    paths:
    - {path: /a, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
    - {path: /b, pathType: Prefix, backend: {service: {name: web, port: {number: 81}}}}
    - {path: /c, pathType: Prefix, backend: {service: {name: web, port: {number: 81}}}}
"""


async def asked(
    worker: Worker, spec: str, annotations: dict[str, str], weight: float = -1, **more: Any
) -> pb.ExecuteResponse:
    original = original_of(KIND, spec)
    original["metadata"]["annotations"] = {f"{PREFIX}/{k}": v for k, v in annotations.items()}
    obj = step_obj(original, {}, 0, service="web", shared=False)
    obj |= {"canaryWeight": weight, "stableWeight": 100 - weight, "params": AWS, **more}
    return await worker.run(packaged(script_of(KIND)), json.dumps(obj))


def groups(answer: pb.ExecuteResponse, name: str) -> list[tuple[str, int]]:
    """Target groups of an action: Service and weight."""
    text = json.loads(answer.result_json)["annotations"][f"{PREFIX}/actions.{name}"]
    found = json.loads(text)["forwardConfig"]["targetGroups"]
    return [(group["serviceName"], group["weight"]) for group in found]


async def test_a_second_port_has_an_action_and_conditions_of_its_own(script_worker: Worker) -> None:
    conditions = json.dumps([{"field": "source-ip", "sourceIpConfig": {"values": ["10.0.0.0/8"]}}])
    answer = await asked(script_worker, TWO_PORTS, {"conditions.web": conditions}, 20)
    found = json.loads(answer.result_json)
    paths = found["spec"]["rules"][0]["http"]["paths"]
    assert [path["backend"]["service"] for path in paths] == [
        {"name": name, "port": {"name": "use-annotation"}} for name in ("web", "web-81", "web-81")
    ]
    assert groups(answer, "web") == groups(answer, "web-81") == [("web", 80), ("web-canary", 20)]
    assert json.loads(found["annotations"][f"{PREFIX}/conditions.web-81"]) == json.loads(conditions)


async def test_parts_of_a_percent_where_weights_are_given_so(script_worker: Worker) -> None:
    action = {
        "type": "forward",
        "forwardConfig": {
            "targetGroups": [
                {"serviceName": "web", "servicePort": 80, "weight": 4},
                {"serviceName": "o", "servicePort": 80, "weight": 4},
            ]
        },
    }
    spec = SPEC.replace("number: 80", "name: use-annotation").replace("name: web", "name: own")
    answer = await asked(script_worker, spec, {"actions.own": json.dumps(action)}, 25)
    assert groups(answer, "own") == [("web", 3), ("web-canary", 1), ("o", 4)]


@pytest.mark.parametrize(
    ("spec", "step", "text"),
    [
        pytest.param(SPEC, {"weight": 20, "params": {}},
                     "this Ingress is not known to be for the AWS load balancer controller (params.controller)",
                     id="another-class"),
        pytest.param(SPEC, {"matches": [query("a", "b.*", "RegularExpression")]},
                     "no Ingress of this controller can match query parameters by regular expression", id="query"),
        pytest.param(SPEC, {"matches": [path("/.*", "RegularExpression")]},
                     "no Ingress of this controller can match paths by type RegularExpression", id="path"),
        pytest.param(SPEC, {"matches": [BETA], "requestHeaderModifier": {"remove": ["a"]}},
                     "no Ingress of this controller can change headers for one revision", id="headers"),
        pytest.param(SPEC, {"matches": [{"headers": [*BETA["headers"] * 3]}]},
                     "a rule would have 6 values of conditions (at most 5): fewer in one match", id="values"),
        pytest.param("defaultBackend: {service: {name: web, port: {number: 80}}}", {"matches": [BETA]},
                     "the default backend of an Ingress has no conditions: give it a path", id="default"),
        pytest.param(SPEC, {"weight": 20, "canaryService": "web"},
                     "no Ingress can tell revisions of one Service apart: the new one needs a Service of its own",
                     id="one-service"),
        pytest.param(SPEC, {"weight": 20, "stableService": "shop"},
                     "no rule of this Ingress points at Service shop", id="elsewhere"),
        pytest.param(SPEC, {"weight": 0.5},
                     "no Ingress can express 0.5 % here: its weights are too small for parts of a percent", id="parts"),
    ],
)  # fmt: skip
async def test_inexpressible_steps_are_refused(
    script_worker: Worker, spec: str, step: dict[str, Any], text: str
) -> None:
    assert await refused(script_worker, KIND, spec, **{"params": AWS, **step}) == text


async def test_an_annotation_that_cannot_be_read(script_worker: Worker) -> None:
    spec = SPEC.replace("number: 80", "name: use-annotation")
    answer = await asked(script_worker, spec, {"actions.web": "{"}, 20)
    assert f"the annotation {PREFIX}/actions.web cannot be read" in answer.message


async def test_no_more_target_groups_than_there_may_be(script_worker: Worker) -> None:
    five = [{"serviceName": name, "servicePort": 80, "weight": 20} for name in ("web", *"abcd")]
    action = {"type": "forward", "forwardConfig": {"targetGroups": five}}
    spec = SPEC.replace("number: 80", "name: use-annotation")
    answer = await asked(script_worker, spec, {"actions.web": json.dumps(action)}, 20)
    assert "an action would have 6 target groups (at most 5)" in answer.message


CAPITALS = {
    "Type": "forward",
    "ForwardConfig": {
        "TargetGroups": [
            {"ServiceName": "web", "ServicePort": "80", "Weight": 90},
            {"ServiceName": "legacy", "ServicePort": "80", "Weight": 10},
        ]
    },
}


async def test_keys_of_an_action_are_read_without_regard_to_case(script_worker: Worker) -> None:
    spec = SPEC.replace("number: 80", "name: use-annotation")
    answer = await asked(script_worker, spec, {"actions.web": json.dumps(CAPITALS)}, 10)
    assert groups(answer, "web") == [("web", 81), ("web-canary", 9), ("legacy", 10)]


@pytest.mark.parametrize("field", ["transforms", "anything-new"])
async def test_what_is_said_about_a_backend_is_said_about_its_copies(
    script_worker: Worker, field: str
) -> None:
    answer = await asked(script_worker, SPEC, {f"{field}.web": "[]"}, matches=[BETA, BETA])
    found = json.loads(answer.result_json)["annotations"]
    paths = json.loads(answer.result_json)["spec"]["rules"][0]["http"]["paths"]
    names = [path["backend"]["service"]["name"] for path in paths]
    assert len(names) > 1
    assert {found[f"{PREFIX}/{field}.{name}"] for name in names} == {"[]"}


async def test_what_is_said_about_a_backend_is_said_about_its_action_for_another_port(
    script_worker: Worker,
) -> None:
    answer = await asked(script_worker, TWO_PORTS, {"transforms.web": "[]"}, 20)
    found = json.loads(answer.result_json)["annotations"]
    assert found[f"{PREFIX}/transforms.web-81"] == "[]"
    assert f"{PREFIX}/transforms.other" not in found
