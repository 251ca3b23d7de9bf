"""SECURITY.md, the OpenVEX document and the release workflow are correct."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.unit.documents.test_security import DEFINED

ROOT = Path(__file__).resolve().parents[3]
VEX = json.loads((ROOT / "deploy/security/moonshift.openvex.json").read_text())
WORKFLOW = (ROOT / ".github/workflows/release.yaml").read_text()
JOB = yaml.safe_load(WORKFLOW)["jobs"]["image"]
COMMANDS = "\n".join(step.get("run", "") for step in JOB["steps"])
DOCKERFILE = (ROOT / "deploy/docker/Dockerfile").read_text()
ATTACKS = "".join(p.read_text() for p in (ROOT / "tests/attacks/corpus").glob("*.py"))
JUSTIFICATIONS = {
    "component_not_present",
    "vulnerable_code_not_present",
    "vulnerable_code_not_in_execute_path",
    "vulnerable_code_cannot_be_controlled_by_adversary",
    "inline_mitigations_already_exist",
}
"""Those that OpenVEX 0.2 knows."""


@pytest.mark.parametrize(
    "statement", VEX["statements"], ids=lambda one: str(one["vulnerability"]["name"])
)
def test_a_statement_has_a_reason_and_names_tests_that_are_there(
    statement: dict[str, str],
) -> None:
    assert statement["status"] == "not_affected"
    assert statement["justification"] in JUSTIFICATIONS
    reason = statement["impact_statement"]
    for name in re.findall(r"test_\w+", reason):
        assert name in DEFINED
    for attack in re.findall(r"cve-[\w-]+", reason):
        assert f'"{attack}"' in ATTACKS
    if statement["justification"] == "inline_mitigations_already_exist":
        assert "process" in reason or "test_" in reason


def test_no_hole_is_stated_twice() -> None:
    names = [one["vulnerability"]["name"] for one in VEX["statements"]]
    assert len(names) == len(set(names)) >= 15


def test_the_image_has_one_engine_of_lua() -> None:
    for engine in ("lua5[2345]*.so", "luajit*.so"):
        assert f"site-packages/lupa/{engine}" in DOCKERFILE
    sandbox = (ROOT / "luaworker/sandbox.py").read_text()
    assert set(re.findall(r"\blua5\d\b|\bluajit\d*\b", sandbox)) == {"lua51"}


def test_the_workflow_builds_the_targets_of_the_dockerfile_on_a_pinned_base() -> None:
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE))
    assert set(JOB["strategy"]["matrix"]["process"]) <= stages
    assert f"ARG BASE={JOB['env']['BASE']}\n" in DOCKERFILE
    assert 'BASE=$BASE@$digest" >>"$GITHUB_ENV"' in COMMANDS
    assert '--build-arg "BASE=$BASE"' in COMMANDS
    assert "linux/amd64,linux/arm64" in COMMANDS


def test_the_workflow_publishes_the_plugin_with_provenance_and_no_right_too_many() -> None:
    plugin = yaml.safe_load(WORKFLOW)["jobs"]["plugin"]
    commands = "\n".join(step.get("run", "") for step in plugin["steps"])
    assert "python -m demo.cluster.krew" in commands
    assert "--require-hashes" in commands
    assert any("attest-build-provenance" in step.get("uses", "") for step in plugin["steps"])
    assert plugin["permissions"] == {
        "contents": "write",
        "id-token": "write",
        "attestations": "write",
    }
    assert "${{" not in commands


def test_the_workflow_signs_and_attests_and_has_no_right_too_many() -> None:
    for command in ("cosign sign", "--type cyclonedx", "--type openvex"):
        assert command in COMMANDS
    assert any("attest-build-provenance" in step.get("uses", "") for step in JOB["steps"])
    assert yaml.safe_load(WORKFLOW)["permissions"] == {"contents": "read"}
    assert JOB["permissions"] == {
        "contents": "read",
        "packages": "write",
        "id-token": "write",
        "attestations": "write",
    }
    # The text of a tag or a name is never part of a shell's text.
    assert "${{ github" not in COMMANDS


def test_files_that_the_workflow_and_the_page_name_are_there() -> None:
    page = (ROOT / "SECURITY.md").read_text()
    named = re.findall(r"\b(?:deploy|docs|\.github)/[\w./-]+\w", COMMANDS + page)
    assert len(named) > 4
    assert [name for name in named if not (ROOT / name).exists()] == []
    for name in re.findall(r"`(test_\w+)`", page):
        assert name in DEFINED


@pytest.mark.parametrize(
    "place", ["Makefile", "deploy/docker/Dockerfile", ".github/workflows/release.yaml"]
)
def test_a_lock_is_installed_as_it_is_and_not_resolved_again(place: str) -> None:
    """pip resolves `coverage[toml]` without its pin: an upload of coverage on PyPI broke every new machine."""
    commands = [
        line
        for line in (ROOT / place).read_text().splitlines()
        if re.search(r"pip\b.* install .*--require-hashes", line)
    ]
    assert commands
    assert all("--no-deps" in command for command in commands)
