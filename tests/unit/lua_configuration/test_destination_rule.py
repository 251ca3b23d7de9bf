"""The DestinationRule script."""

import json
from typing import Any

import pytest

from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import Worker
from tests.unit.lua_configuration.cases import FOLDER, packaged, step_obj

SCRIPT = packaged(FOLDER / "networking.istio.io/DestinationRule/trafficRouting.lua")
GRAY = {"name": "canary", "labels": {"istio.service.tag": "gray"}}


async def run(
    worker: Worker, spec: dict[str, Any] | None, labels: dict[str, str] | None = None
) -> pb.ExecuteResponse:
    obj = step_obj({"spec": spec}, {}, 20, service="svc", shared=True, labels=labels)
    return await worker.run(SCRIPT, json.dumps(obj))


async def test_subsets_are_made_where_there_are_none(script_worker: Worker) -> None:
    answer = await run(script_worker, {"host": "svc"})
    assert json.loads(answer.result_json)["spec"] == {"host": "svc", "subsets": [GRAY]}


async def test_a_subset_that_is_there_already_is_used(script_worker: Worker) -> None:
    spec = {"host": "svc", "subsets": [{"name": "canary", "labels": {"v": "2"}}]}
    answer = await run(script_worker, spec, {"v": "2"})
    assert json.loads(answer.result_json)["spec"] == spec


async def test_a_foreign_subset_of_that_name_is_an_error(script_worker: Worker) -> None:
    spec = {"host": "svc", "subsets": [{"name": "canary", "labels": {"v": "1"}}]}
    answer = await run(script_worker, spec, {"v": "2"})
    assert answer.code == pb.RUNTIME_ERROR
    assert "a subset named canary of its own" in answer.message


async def test_an_object_without_spec_is_an_error(script_worker: Worker) -> None:
    assert (await run(script_worker, None)).code == pb.RUNTIME_ERROR


async def test_the_contract_of_the_original_without_metadata_of_pods(
    script_worker: Worker,
) -> None:
    obj = step_obj({"spec": {"host": "svc"}}, {}, 20, service="svc", shared=True)
    del obj["patchPodMetadata"], obj["object"], obj["params"]
    answer = await script_worker.run(SCRIPT, json.dumps(obj))
    assert json.loads(answer.result_json)["spec"]["subsets"] == [GRAY]


MUTUAL = {"tls": {"mode": "ISTIO_MUTUAL"}}


def subset(name: str, labels: dict[str, str], policy: object) -> dict[str, Any]:
    return {"name": name, "labels": labels, **({"trafficPolicy": policy} if policy else {})}


@pytest.mark.parametrize(
    ("subsets", "pods", "policy"),
    [
        ([("a", {"v": "1"}, MUTUAL)], {"v": "1"}, MUTUAL),
        ([("a", {"v": "1"}, MUTUAL)], None, MUTUAL),
        ([("a", {"v": "1"}, MUTUAL), ("b", {"v": "2"}, None)], {"v": "1"}, MUTUAL),
        ([("a", {"v": "1"}, MUTUAL), ("b", {"x": "2"}, MUTUAL)], {"v": "1", "x": "2"}, MUTUAL),
        ([("a", {"v": "1"}, MUTUAL), ("b", {"v": "2"}, None)], None, None),
        ([("a", {"v": "1"}, None)], {"v": "1"}, None),
        ([("a", {"v": "2"}, MUTUAL)], {"v": "1"}, None),
    ],
    ids=["ours", "unknown", "another-owner", "agree", "differ", "none", "only-another-owner"],
)
async def test_the_new_subset_has_the_policy_on_which_those_with_stable_pods_agree(
    script_worker: Worker,
    subsets: list[tuple[str, dict[str, str], object]],
    pods: dict[str, str] | None,
    policy: object,
) -> None:
    spec = {"host": "svc", "subsets": [subset(*one) for one in subsets]}
    obj = step_obj({"spec": spec}, {}, 20, service="svc", shared=True)
    obj |= {} if pods is None else {"stablePodLabels": pods}
    answer = await script_worker.run(SCRIPT, json.dumps(obj))
    added = json.loads(answer.result_json)["spec"]["subsets"][-1]
    assert added == {**GRAY, **({"trafficPolicy": policy} if policy else {})}
    differ = len(subsets) > 1 and pods is None
    assert bool(answer.log) == differ
