"""The examples in docs/gateways/ are the ones that are released on a control plane, and agree with the scripts."""

import re

import pytest
import yaml

from controller.cli.script_tools.script_folders import subjects_in
from tests.cluster.test_every_kind import TABLE
from tests.unit.documents.pages import ROOT
from tests.unit.lua_configuration import gateway_pages
from tests.unit.lua_configuration.cases import FOLDER

PAGES = gateway_pages.pages()
EXAMPLES = [name for name in PAGES if name != "index.md"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_agrees_with_the_test_data(name: str) -> None:
    assert (gateway_pages.FOLDER_OF_PAGES / name).read_text() == PAGES[name], "run: make generate"


def test_other_paths_have_no_page() -> None:
    assert {path.name for path in gateway_pages.FOLDER_OF_PAGES.glob("*.md")} == set(PAGES)


def test_every_script_has_a_page_and_each_is_released_on_a_plane() -> None:
    scripts = {subject.name for subject in subjects_in(FOLDER)}
    assert scripts == set(TABLE)
    assert {gateway_pages.file_of(name) for name in scripts} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_whole(name: str) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGES[name], re.DOTALL)
    have, rollout, *steps = ([*yaml.safe_load_all(block)] for block in blocks)
    assert [body["kind"] for body in have[:2]] == ["Deployment", "Service"]
    assert {body["metadata"].get("namespace", "demo") for body in have} == {"demo"}
    assert [body["kind"] for body in rollout] == ["Rollout"]
    assert steps, "something is different at one of the steps"


def test_the_page_about_gateways_leads_to_the_examples() -> None:
    assert "(gateways/index.md)" in (ROOT / "docs" / "gateways.md").read_text()
