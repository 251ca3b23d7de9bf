"""All documented cases of the packaged scripts, through the real worker."""

import json
from pathlib import Path

import pytest

from tests.component.luaworker.process import Worker
from tests.unit.lua_configuration.cases import FOLDER, Case, cases

ALL = list(cases())
SCRIPTS = sorted(FOLDER.rglob("*.lua"))


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
async def test_the_script_gives_what_the_case_expects(script_worker: Worker, case: Case) -> None:
    answer = await script_worker.run(case.script.read_bytes(), json.dumps(case.obj))
    assert answer.message == ""
    assert json.loads(answer.result_json) == case.expected


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
async def test_the_same_input_gives_the_same_bytes(script_worker: Worker, case: Case) -> None:
    script, obj = case.script.read_bytes(), json.dumps(case.obj)
    first = await script_worker.run(script, obj)
    second = await script_worker.run(script, obj)
    assert first.result_json == second.result_json


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
async def test_a_result_as_original_changes_nothing_more(script_worker: Worker, case: Case) -> None:
    obj = {**case.obj, "data": case.expected}
    answer = await script_worker.run(case.script.read_bytes(), json.dumps(obj))
    if case.obj["canaryWeight"] >= 0 or "DestinationRule" in case.name:
        assert json.loads(answer.result_json) == case.expected


@pytest.mark.parametrize("path", SCRIPTS, ids=[str(p.relative_to(FOLDER)) for p in SCRIPTS])
def test_every_script_says_its_name_and_what_it_can(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if line.startswith("--@")]
    assert {"--@name", "--@can"} <= {line.split()[0] for line in lines}
