"""The expected objects of the test data are the objects that the controller would write."""

import json

import pytest

from controller.domain.decision import Reference
from controller.domain.traffic.validation.answer import validate_answer
from controller.domain.traffic.validation.violation import Violation
from tests.unit.lua_configuration.cases import Case, answered_cases

ALL = answered_cases()


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
def test_the_controller_accepts_the_expected_answer_of_every_case(case: Case) -> None:
    stable, canary = case.obj["stableService"], case.obj["canaryService"]
    identity = case.obj["object"]
    reference = Reference(
        identity["apiVersion"], identity["kind"], identity["name"] or "", stable, canary
    )
    namespace = identity["namespace"] or ""
    answer = json.dumps(case.expected).encode()
    judged = validate_answer(answer, case.obj["data"], (reference,), namespace)
    assert not isinstance(judged, Violation), judged.message
