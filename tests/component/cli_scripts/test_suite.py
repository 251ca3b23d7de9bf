"""Test cases through the real worker."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.cli.script_tools.cases import BadCase, Case, read_case
from controller.cli.script_tools.coverage import Coverage, instrumented, measure
from controller.cli.script_tools.engine import Engine, Execution
from controller.cli.script_tools.evaluate import evaluate
from controller.cli.script_tools.script_folders import subject_at, subjects_in
from controller.cli.script_tools.suite import Check, Report, Suite
from controller.cli.script_tools.update import update
from controller.domain.decision import Refusal
from controller.scripts.lookup import FOLDER
from tests.unit.cli_scripts.folders import ORIGINAL, SPLIT, case, lane, make_folder, split

STEP = {"traffic": "20%"}


async def report(engine: Engine, root: Path, keyword: str = "") -> Report:
    (found,) = await Suite(engine, keyword).run(subjects_in(root))
    return found


async def only(engine: Engine, root: Path) -> Check:
    (check,) = (await report(engine, root)).checks
    return check


async def test_packaged_scripts_pass_all_their_cases(engine: Engine) -> None:
    reports = await Suite(engine).run(subjects_in(FOLDER))
    assert len(reports) >= 2
    assert [check for found in reports for check in found.checks if check.problem] == []
    assert all(found.coverage and not found.coverage.unmeasured for found in reports)


async def test_a_right_expectation_passes(engine: Engine, tmp_path: Path) -> None:
    make_folder(tmp_path, one=case(STEP, expected=[split(20)]))
    found = await report(engine, tmp_path)
    assert [(check.name, check.problem) for check in found.checks] == [("one[0]", "")]
    assert found.coverage is not None
    assert (found.coverage.percent, found.coverage.missed_lines) == (100, ())


async def test_the_script_of_a_namespace_is_tried_as_any_other(
    engine: Engine, tmp_path: Path
) -> None:
    own = case(STEP, expected=[split(20)])
    canary = own["rollout"]["spec"]["strategy"]["canary"]
    for reference in canary["trafficRoutings"][0]["customNetworkRefs"]:
        reference["scriptRef"] = {"name": "scripts", "serviceAccountName": "router"}
    make_folder(tmp_path, one=own)
    assert (await only(engine, tmp_path)).problem == ""


async def test_a_wrong_expectation_fails_with_a_difference(engine: Engine, tmp_path: Path) -> None:
    make_folder(tmp_path, one=case(STEP, expected=[split(30)]))
    check = await only(engine, tmp_path)
    assert check.problem == "the result is not what is expected"
    assert "-      weight: 70" in check.diff
    assert "+      weight: 80" in check.diff


async def test_steps_do_not_chain(engine: Engine, tmp_path: Path) -> None:
    steps = [STEP, {"traffic": "40%"}]
    make_folder(tmp_path, one=case(*steps, expected=[split(20), split(40)]))
    assert (await report(engine, tmp_path)).failed == 0


async def test_a_step_without_traffic_leaves_the_object_alone(
    engine: Engine, tmp_path: Path
) -> None:
    make_folder(tmp_path, one=case({"replicas": 1}, expected=[ORIGINAL]))
    assert (await only(engine, tmp_path)).problem == ""


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        pytest.param("error('no lanes')", "no lanes", id="the script fails"),
        pytest.param("x = = 1", "syntax error", id="it does not compile"),
        pytest.param("return {spec = 1}", "has no spec", id="the answer has no spec"),
        pytest.param(
            "obj.data.spec.lanes[1].services[1].name = 'ghost' return obj.data",
            "leads to ghost",
            id="a destination is invented",
        ),
        pytest.param(
            "obj.data.spec.lanes[1].services[1].weight = -1 return obj.data",
            "has the weight -1",
            id="a weight is unsound",
        ),
        pytest.param("while true do end", "took too long", id="it never ends"),
    ],
)
async def test_an_answer_that_the_controller_would_refuse_fails_the_case(
    engine: Engine, tmp_path: Path, script: str, problem: str
) -> None:
    make_folder(tmp_path, script, one=case(STEP, expected=[split(20)]))
    assert problem in (await only(engine, tmp_path)).problem


async def test_the_output_of_a_failing_script_is_shown(engine: Engine, tmp_path: Path) -> None:
    make_folder(tmp_path, "print('here') error('x')", one=case(STEP, expected=[split(20)]))
    assert (await only(engine, tmp_path)).log == ("here",)


async def test_a_refusal_can_be_expected(engine: Engine, tmp_path: Path) -> None:
    make_folder(tmp_path, "error('no cookies')", one=case(STEP, expected=[{"error": "no cookies"}]))
    assert (await only(engine, tmp_path)).problem == ""


async def test_a_script_without_test_data_fails(engine: Engine, tmp_path: Path) -> None:
    make_folder(tmp_path)
    assert "no test data" in (await only(engine, tmp_path)).problem


async def test_too_few_expectations_fail(engine: Engine, tmp_path: Path) -> None:
    make_folder(tmp_path, one=case(STEP, STEP, expected=[split(20)]))
    count, step = (await report(engine, tmp_path)).checks
    assert "2 steps and 1 expected" in count.problem
    assert step.problem == ""


async def test_a_file_that_is_no_case_fails_and_others_are_run(
    engine: Engine, tmp_path: Path
) -> None:
    make_folder(tmp_path, bad={}, one=case(STEP, expected=[split(20)]))
    bad, good = (await report(engine, tmp_path)).checks
    assert bad.problem
    assert good.problem == ""


async def test_a_keyword_chooses_cases(engine: Engine, tmp_path: Path) -> None:
    right = case(STEP, expected=[split(20)])
    make_folder(tmp_path, one=right, two=right)
    assert [check.case for check in (await report(engine, tmp_path, "LANE/ONE")).checks] == ["one"]
    assert await Suite(engine, "nothing").run(subjects_in(tmp_path)) == []


async def test_two_references_to_one_object_are_chained(engine: Engine, tmp_path: Path) -> None:
    script = """for _, lane in ipairs(obj.data.spec.lanes) do
  local first = lane.services[1]
  if first.name == obj.stableService then
    first.weight = obj.stableWeight
    table.insert(lane.services, {name = obj.canaryService, weight = obj.canaryWeight})
  end
end
return obj.data"""

    def two_lanes(*lists: list[dict[str, Any]]) -> dict[str, Any]:
        made = lane([])
        made["spec"] = {"lanes": [{"path": "/", "services": services} for services in lists]}
        return made

    def pair(name: str) -> list[dict[str, Any]]:
        return [{"name": name, "weight": 80}, {"name": f"{name}-canary", "weight": 20}]

    content = case(STEP, expected=[two_lanes(pair("shop"), pair("cart"))])
    whole = {"weight": 100}
    content["original"] = two_lanes([{"name": "shop", **whole}], [{"name": "cart", **whole}])
    entries = content["rollout"]["spec"]["strategy"]["canary"]["trafficRoutings"]
    entries.append({**entries[0], "service": "cart"})
    make_folder(tmp_path, script, one=content)
    assert (await only(engine, tmp_path)).problem == ""


# --- Ingress classes ---------------------------------------------------------------------------------


async def test_scripts_of_ingress_classes_are_tested_too(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "trafficrouting_ingress"
    (folder / "testdata" / "nginx").mkdir(parents=True)
    (folder / "nginx.lua").write_text(
        "local a = obj.annotations or {} a['canary-weight'] = obj.weight return a"
    )
    content = case(STEP, {"matches": [{"path": {"value": "/x"}}]}, expected=[])
    canary = content["rollout"]["spec"]["strategy"]["canary"]
    canary["trafficRoutings"] = [{"service": "shop", "ingress": {"name": "shop"}}]
    metadata = {"name": "shop", "annotations": {"a": "b"}}
    content["original"] = {
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata,
        "spec": {"defaultBackend": {"service": {"name": "shop"}}},
    }  # fmt: skip
    content["expected"] = [
        {"metadata": {"annotations": {"a": "b", "canary-weight": weight}}}
        for weight in ("20", "-1")
    ]
    (folder / "testdata" / "nginx" / "one.yaml").write_text(yaml.safe_dump(content))
    assert (await report(engine, tmp_path)).failed == 0


# --- coverage ----------------------------------------------------------------------------------------


async def covered(engine: Engine, tmp_path: Path, script: str) -> Coverage:
    subject = subject_at(make_folder(tmp_path, script, one=case(STEP, expected=[])))
    one = read_case(subject.cases()[0], subject)
    assert isinstance(one, Case)
    outcome = await evaluate(engine, subject.read(), one, one.steps[0])
    copy = instrumented(subject.read())
    assert copy is not None
    return await measure(engine, outcome.executions[0], copy)


async def test_lines_that_never_ran_are_known(engine: Engine, tmp_path: Path) -> None:
    found = await covered(
        engine, tmp_path, "if obj.matches then\n  error('x')\nelse\n  x = 1\nend\nreturn obj.data"
    )
    assert (found.missed_lines, found.percent, found.unmeasured) == ((2,), 75, 0)


async def test_a_script_that_fails_is_covered_up_to_there(engine: Engine, tmp_path: Path) -> None:
    found = await covered(engine, tmp_path, "local a = 1\nerror('x')\n")
    assert (found.percent, found.unmeasured) == (100, 0)


async def test_prints_of_the_script_do_not_crowd_out_the_marks(
    engine: Engine, tmp_path: Path
) -> None:
    script = "for i = 1, 2000 do print('line of text') end\nreturn obj.data"
    assert (await covered(engine, tmp_path, script)).percent == 100


async def test_marks_that_change_the_answer_count_for_nothing(
    engine: Engine, tmp_path: Path
) -> None:
    script = "obj.data.labels = {g = tostring(__moonshift_marks ~= nil)}\nreturn obj.data"
    found = await covered(engine, tmp_path, script)
    assert (found.hit, found.unmeasured) == (frozenset(), 1)


async def test_the_copy_gives_the_bytes_of_the_script(engine: Engine) -> None:
    for subject in subjects_in(FOLDER):
        copy = instrumented(subject.read())
        assert copy is not None
        for path in subject.cases():
            one = read_case(path, subject)
            assert isinstance(one, Case)
            outcome = await evaluate(engine, subject.read(), one, one.steps[0])
            first: Execution = outcome.executions[0]
            assert not (await measure(engine, first, copy)).unmeasured


# --- update ------------------------------------------------------------------------------------------


async def test_expectations_are_rewritten_and_then_hold(engine: Engine, tmp_path: Path) -> None:
    subject = subject_at(make_folder(tmp_path, one=case(STEP, expected=[split(99)])))
    (path,) = subject.cases()
    path.write_text("# kept\n" + path.read_text())
    assert await update(engine, subject) == [path]
    assert path.read_text().startswith("# kept\n")
    assert (await only(engine, tmp_path)).problem == ""
    assert await update(engine, subject) == []


async def test_a_failure_never_becomes_an_expectation(engine: Engine, tmp_path: Path) -> None:
    subject = subject_at(make_folder(tmp_path, "error('x')", one=case(STEP, expected=[split(1)])))
    before = subject.cases()[0].read_text()
    (bad,) = await update(engine, subject)
    assert isinstance(bad, BadCase)
    assert subject.cases()[0].read_text() == before


async def test_the_step_is_run_twice(engine: Engine, tmp_path: Path) -> None:
    subject = subject_at(make_folder(tmp_path, SPLIT, one=case(STEP, expected=[])))
    one = read_case(subject.cases()[0], subject)
    assert isinstance(one, Case)
    outcome = await evaluate(engine, subject.read(), one, one.steps[0])
    assert not isinstance(outcome.result, Refusal)
    assert len(outcome.executions) == 2
