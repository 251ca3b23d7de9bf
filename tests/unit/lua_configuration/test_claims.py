"""`--@can`: a script does everything that it claims, and refuses everything else."""

import json
from typing import Any

import pytest

from controller.domain.traffic.plan.header import parse_header
from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import Worker
from tests.unit.lua_configuration.capabilities import scripts
from tests.unit.lua_configuration.cases import FOLDER, Case, answered_cases, packaged
from tests.unit.lua_configuration.running import header, path, query

STEPS: dict[str, tuple[Any, Any]] = {
    "header": (header("x-probe", "a"), header("x-probe", "b")),
    "header-regex": (header("x-probe", "a", "RegularExpression"), header("x-probe", "a")),
    "cookie": (header("canary-by-cookie", "probe"), header("canary-by-cookie", "probe=b")),
    "query": (query("probe", "a"), query("probe", "b")),
    "path": (path("/probe-a"), path("/probe-b")),
    "method": ({"method": "GET"}, {"method": "POST"}),
}
KINDS = [script for script in scripts() if script.parts[-3] != "networking.istio.io"]
NAMES = [str(script.parent.relative_to(FOLDER)) for script in KINDS]
ORIGINALS: dict[Any, Case] = {}
OF_SCRIPT: dict[Any, list[Case]] = {}
for case in answered_cases():
    ORIGINALS.setdefault(case.script, case)
    OF_SCRIPT.setdefault(case.script, []).append(case)


async def given(worker: Worker, original: Case, **step: Any) -> pb.ExecuteResponse:
    obj = {**original.obj, "canaryWeight": -1, "stableWeight": 101, "matches": None, **step}
    return await worker.run(packaged(original.script), json.dumps(obj))


async def answered_by_any(worker: Worker, script: Any, match: Any) -> pb.ExecuteResponse:
    """The answer on the first original that serves the step's path, if it has one."""
    *others, last = OF_SCRIPT[script] if "path" in match else [ORIGINALS[script]]
    for original in others:
        answer = await given(worker, original, matches=[match])
        if answer.code == pb.OK:
            return answer
    return await given(worker, last, matches=[match])


@pytest.mark.parametrize("word", STEPS)
@pytest.mark.parametrize("script", KINDS, ids=NAMES)
async def test_a_match_is_answered_as_claimed(
    script_worker: Worker, script: Any, word: str
) -> None:
    claimed = word in (parse_header(script.read_text()).can or ())
    results = []
    for match in STEPS[word]:
        needs_more = word == "header-regex" and match == STEPS[word][1]
        answer = await answered_by_any(script_worker, script, match)
        if not needs_more:
            assert (answer.code == pb.OK) == claimed, answer.message
        results.append(answer.result_json)
    assert not claimed or results[0] != results[1]


@pytest.mark.parametrize("script", KINDS, ids=NAMES)
async def test_a_share_is_answered_as_claimed(script_worker: Worker, script: Any) -> None:
    can = parse_header(script.read_text()).can or frozenset()
    for word, weight in (("weight", 20), ("subpercent", 12.25)):
        step = {"canaryWeight": weight, "stableWeight": 100 - weight}
        answer = await given(script_worker, ORIGINALS[script], **step)
        assert (answer.code == pb.OK) == (word in can), answer.message
