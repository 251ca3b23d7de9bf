"""All documented cases of the packaged scripts, through the real worker."""

import json
from pathlib import Path

import pytest

from controller.cli.script_tools.cases import Case as Case_
from controller.cli.script_tools.cases import read_case
from controller.cli.script_tools.script_folders import subject_at
from controller.domain.traffic.plan.header import parse_header
from controller.scripts.lookup import packaged_texts
from tests.component.luaworker.process import Worker
from tests.unit.lua_configuration.cases import (
    FOLDER,
    Case,
    answered_cases,
    cases,
    compared,
    packaged,
)

ALL = answered_cases()
REFUSED = [case for case in cases() if case.refused]
SCRIPTS = sorted(
    FOLDER / path for path, text in packaged_texts().items() if not parse_header(text.decode()).does
)
CLASSES = sorted(FOLDER.glob("trafficrouting_ingress/*.lua"))


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
async def test_the_script_gives_the_expected_answer_of_the_case(
    script_worker: Worker, case: Case
) -> None:
    answer = await script_worker.run(packaged(case.script), json.dumps(case.obj))
    assert answer.message == ""
    assert compared(json.loads(answer.result_json)) == case.expected


@pytest.mark.parametrize("case", REFUSED, ids=[case.name for case in REFUSED])
async def test_the_script_refuses_the_steps_that_the_case_names(
    script_worker: Worker, case: Case
) -> None:
    answer = await script_worker.run(packaged(case.script), json.dumps(case.obj))
    assert case.refused in answer.message


@pytest.mark.parametrize("path", CLASSES, ids=[p.stem for p in CLASSES])
def test_every_class_has_at_least_seven_cases(path: Path) -> None:
    subject = subject_at(path)
    steps = 0
    for file in subject.cases():
        case = read_case(file, subject)
        assert isinstance(case, Case_), file
        steps += len(case.steps)
    assert steps >= 7


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
async def test_the_same_input_gives_the_same_bytes(script_worker: Worker, case: Case) -> None:
    script, obj = packaged(case.script), json.dumps(case.obj)
    first = await script_worker.run(script, obj)
    second = await script_worker.run(script, obj)
    assert first.result_json == second.result_json


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
async def test_a_result_as_original_changes_nothing_more(script_worker: Worker, case: Case) -> None:
    data = {key: part for key, part in case.expected.items() if key != "objects"}
    answer = await script_worker.run(packaged(case.script), json.dumps({**case.obj, "data": data}))
    weight_only = case.obj["canaryWeight"] >= 0 and not case.obj.get("matches")
    if weight_only or "DestinationRule" in case.name:
        assert compared(json.loads(answer.result_json)) == case.expected


@pytest.mark.parametrize("path", SCRIPTS, ids=[str(p.relative_to(FOLDER)) for p in SCRIPTS])
def test_every_script_declares_its_name_and_its_abilities(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if line.startswith("--@")]
    assert {"--@name", "--@can"} <= {line.split()[0] for line in lines}
