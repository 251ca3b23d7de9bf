"""Files that tools and the repository's host read: the same versions and commands as here, and no right too many."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.documents.pages import ROOT

FORMS = sorted(
    path
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")
    if path.name != "config.yml"
)
INPUTS = {"checkboxes", "dropdown", "input", "textarea"}


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


def test_commits_are_checked_by_the_pinned_versions() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    pins = dict(re.findall(r"^([\w.-]+)==(\S+) \\$", lock, re.MULTILINE))
    found = {
        repo["repo"].rpartition("/")[2]: repo["rev"]
        for repo in read(".pre-commit-config.yaml")["repos"]
    }
    assert found == {
        "ruff-pre-commit": f"v{pins['ruff']}",
        "codespell": f"v{pins['codespell']}",
    }


def test_the_checks_are_the_commands_of_a_person() -> None:
    workflow = read(".github/workflows/checks.yaml")
    runs = [
        step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step
    ]
    assert runs == ["make check", "make test"]
    assert workflow["permissions"] == {"contents": "read"}
    # The key `on` is a Boolean in YAML 1.1.
    assert set(workflow[True]) == {"push", "pull_request"}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_form_has_a_name_and_labelled_questions(form: Path) -> None:
    content = yaml.safe_load(form.read_text())
    assert content["name"]
    assert content["description"]
    questions = [part for part in content["body"] if part["type"] != "markdown"]
    assert {part["type"] for part in questions} <= INPUTS
    assert all(part["attributes"]["label"] for part in questions)
    names = [part["id"] for part in questions]
    assert len(names) == len(set(names))


def test_there_are_forms() -> None:
    assert [form.stem for form in FORMS] == ["defect", "gateway", "wish"]
