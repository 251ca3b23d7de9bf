"""The published schema of each kind accepts what the packaged scripts write, and refuses a damaged part of it."""

from pathlib import Path

import pytest

from controller.cli.simulation.gateway_kinds import PublishedSchemas, schema_of
from controller.errors import Invalid
from controller.kube.resources import Resource
from localcluster.gateway_schemas import KINDS
from tests.unit.lua_configuration.cases import FOLDER, Case, answered_cases

ALL = answered_cases()
REVIEWED = Resource("", "", "", "")
"""The schema is chosen by the object; this only names it in a refusal."""


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
def test_the_schema_accepts_the_answer_of_the_case(case: Case) -> None:
    owned = {key: case.obj["object"][key] for key in ("apiVersion", "kind")}
    written = {**owned, "spec": case.expected["spec"]}
    for each in (written, *case.expected.get("objects", ())):
        assert PublishedSchemas().review(REVIEWED, None, each) == each


def judged(kind: str) -> Case:
    """The first answer that the schema of a kind judges."""
    for case in ALL:
        of = case.obj["object"]
        group = of["apiVersion"].rpartition("/")[0]
        if f"{group}/{of['kind']}" == kind and schema_of(of["apiVersion"], of["kind"]):
            return case
    raise AssertionError(f"no case of {kind} is in a version with a schema")


@pytest.mark.parametrize("kind", [f"{group}/{kind}" for group in KINDS for kind in KINDS[group]])
def test_the_schema_of_every_kind_refuses_a_number_in_place_of_each_field(kind: str) -> None:
    case = judged(kind)
    owned = {key: case.obj["object"][key] for key in ("apiVersion", "kind")}
    for field in case.expected["spec"]:
        damaged = {**owned, "spec": {**case.expected["spec"], field: 12.5}}
        with pytest.raises(Invalid, match=f"spec.{field}: Invalid value: must be of type"):
            PublishedSchemas().review(REVIEWED, None, damaged)


PAGE = Path(__file__).parents[3] / "docs/gateways.md"


def test_the_page_names_exactly_the_kinds_without_a_schema() -> None:
    scripts = FOLDER.glob("*.*/*/trafficRouting.lua")
    kinds = {f"{path.parent.parent.name}/{path.parent.name}" for path in scripts}
    without = kinds - {f"{group}/{kind}" for group in KINDS for kind in KINDS[group]}
    part = PAGE.read_text().partition("## What `simulate` says for the API server")[2]
    rows = [line for line in part.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    named = {name.strip("` ") for row in rows for name in row.split("|")[1].split(",")}
    assert named == without
