from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.cli.script_tools.cases import BadCase, Case, read_case
from controller.cli.script_tools.inputs import obj_of
from controller.cli.script_tools.script_folders import Subject, subject_at
from tests.unit.cli_scripts.folders import API, KIND, ORIGINAL, lane, make_folder, rollout

STEP = {"traffic": "20%"}


def read(tmp_path: Path, content: Any) -> Case | BadCase:
    subject = subject_at(make_folder(tmp_path, one=content))
    return read_case(subject.cases()[0], subject)


def obj(tmp_path: Path, content: Any, step: int = 0) -> dict[str, Any]:
    subject = subject_at(make_folder(tmp_path, one=content))
    case = read_case(subject.cases()[0], subject)
    assert isinstance(case, Case), case.problem
    found: dict[str, Any] = obj_of(subject, subject.read(), case, case.steps[step])
    return found


def test_a_share_becomes_two_weights(tmp_path: Path) -> None:
    given = obj(tmp_path, {"rollout": rollout(STEP), "original": ORIGINAL})
    assert (given["canaryWeight"], given["stableWeight"]) == (20, 80)
    assert (given["canaryService"], given["stableService"]) == ("shop-canary", "shop")
    assert "matches" not in given


def test_matches_alone_are_a_weight_of_minus_one(tmp_path: Path) -> None:
    step = {"replicas": 1, "matches": [{"headers": [{"name": "ua", "value": "pc"}]}]}
    given = obj(tmp_path, {"rollout": rollout(step), "original": ORIGINAL})
    assert (given["canaryWeight"], given["stableWeight"]) == (-1, 101)
    # as the API server stores it
    assert given["matches"] == [{"headers": [{"type": "Exact", "name": "ua", "value": "pc"}]}]


def test_a_shared_service_is_both_services(tmp_path: Path) -> None:
    made = rollout(STEP, disableGenerateCanaryService=True)
    given = obj(tmp_path, {"rollout": made, "original": ORIGINAL})
    assert given["canaryService"] == given["stableService"] == "shop"


def test_labels_of_new_pods_are_given(tmp_path: Path) -> None:
    made = rollout(STEP, patchPodTemplateMetadata={"labels": {"version": "canary"}})
    given = obj(tmp_path, {"rollout": made, "original": ORIGINAL})
    assert given["patchPodMetadata"] == {"labels": {"version": "canary"}, "annotations": {}}


def test_the_older_version_is_read_in_the_spelling_of_the_articles(tmp_path: Path) -> None:
    reference = {"apiVersion": API, "kind": KIND, "name": "shop"}
    entry = {"service": "shop", "createCanaryService": False, "networkRefs": [reference]}
    made = {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "shop"},
        "spec": {
            "objectRef": {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}},
            "strategy": {"canary": {"steps": [{"weight": 5}], "trafficRoutings": [entry]}},
        },
    }  # fmt: skip
    given = obj(tmp_path, {"rollout": made, "original": ORIGINAL})
    assert (given["canaryWeight"], given["canaryService"]) == (5, "shop")


def test_blue_green_has_the_same_input(tmp_path: Path) -> None:
    made = rollout({"traffic": "0%"}, STEP)
    strategy = made["spec"]["strategy"]
    strategy["blueGreen"] = strategy.pop("canary")
    content = {"rollout": made, "original": ORIGINAL}
    assert obj(tmp_path, content)["canaryWeight"] == 0


def test_a_traffic_routing_has_one_step_and_one_service(tmp_path: Path) -> None:
    entry = rollout()["spec"]["strategy"]["canary"]["trafficRoutings"][0]
    routing = {"spec": {"objectRef": [entry], "strategy": {"weight": 30}}}
    given = obj(tmp_path, {"trafficRouting": routing, "original": ORIGINAL})
    assert given["canaryWeight"] == 30
    assert given["canaryService"] == given["stableService"] == "shop"


def test_a_name_that_differs_does_not_matter(tmp_path: Path) -> None:
    other = lane([{"name": "shop"}], name="other")
    assert obj(tmp_path, {"rollout": rollout(STEP), "original": other})["object"]["name"] == "shop"


def test_siblings_are_shown_where_the_header_asks(tmp_path: Path) -> None:
    sibling = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"a": 1}}
    content = {"rollout": rollout(STEP), "original": ORIGINAL, "siblings": [sibling]}
    subject = subject_at(make_folder(tmp_path, "--@siblings Thing\nreturn obj.data\n", one=content))
    case = read_case(subject.cases()[0], subject)
    assert isinstance(case, Case)
    shown = obj_of(subject, subject.read(), case, case.steps[0])["siblings"]
    assert shown == [{
        "apiVersion": "v1", "kind": "Thing", "name": "t", "namespace": "demo", "spec": {"a": 1}
    }]  # fmt: skip


def test_a_date_stays_text(tmp_path: Path) -> None:
    place = make_folder(tmp_path, one={}).parent / "testdata" / "one.yaml"
    content = {"rollout": rollout(STEP), "original": ORIGINAL}
    place.write_text(yaml.safe_dump(content).replace("path: /", "path: 2026-01-02"))
    subject = subject_at(place.parent.parent / "trafficRouting.lua")
    case = read_case(place, subject)
    assert isinstance(case, Case)
    assert case.content["spec"]["lanes"][0]["path"] == "2026-01-02"  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param([], "a case is a map", id="a list"),
        pytest.param({"rollout": rollout(STEP)}, "original is missing", id="no original"),
        pytest.param({"original": ORIGINAL}, "neither rollout nor", id="nothing to derive from"),
        pytest.param({"original": ORIGINAL, "expected": "x"}, "expected is no list", id="text"),
        pytest.param({"rollout": {}, "original": ORIGINAL}, "neither canary nor", id="no strategy"),
        pytest.param({"rollout": rollout(), "original": ORIGINAL}, "no steps", id="no steps"),
        pytest.param(
            {"rollout": rollout({"traffic": "20"}), "original": ORIGINAL},
            "no percentage",
            id="a share without a sign",
        ),
        pytest.param(
            {"rollout": rollout({"traffic": 20}), "original": ORIGINAL},
            "Expected `str",
            id="a share of the wrong type",
        ),
        pytest.param(
            {"rollout": rollout(STEP, trafficRoutings=[]), "original": ORIGINAL},
            "never be called",
            id="no references",
        ),
        pytest.param(
            {
                "rollout": rollout(
                    STEP, trafficRoutings=[{"service": "x", "gateway": {"httpRouteName": "r"}}]
                ),
                "original": ORIGINAL,
            },
            f"no reference to {KIND}",
            id="another kind",
        ),
        pytest.param(
            {"trafficRouting": {"spec": {}}, "original": ORIGINAL}, "no objectRef", id="no object"
        ),
    ],
)
def test_a_case_that_cannot_be_run_says_why(tmp_path: Path, content: Any, problem: str) -> None:
    case = read(tmp_path, content)
    assert isinstance(case, BadCase)
    assert problem in case.problem


def test_text_that_is_not_yaml_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: [")
    case = read_case(path, Subject(path, "x"))
    assert isinstance(case, BadCase)
    assert "not YAML" in case.problem
