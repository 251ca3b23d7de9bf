"""`get` for scripts: names, one value; an unknown form is refused."""

import json
from pathlib import Path

import pytest
import yaml

from controller.version import program_version
from tests.component.cli.double import cluster, make_rollout

NAMED = "rollout.rollouts.kruise.io"


async def test_names_are_printed_one_a_line(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(), make_rollout(name="api")) as api:
        every = await api.run("get", "-o", "name")
        one = await api.run("get", "web", "-o", "name")
        none = await api.run("get", "nope", "-o", "name")
    assert every.output.splitlines() == [f"{NAMED}/api", f"{NAMED}/web"]
    assert one.output == f"{NAMED}/web\n"
    assert none.exit_code == 1


async def test_one_value_is_printed_by_its_path(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(), make_rollout(name="api", step=2)) as api:
        every = await api.run("get", "-o", "jsonpath={.items[*].step}")
        one = await api.run("get", "web", "-o", "jsonpath={.summary.state} at {.summary.step}")
    assert every.output == "2 1\n"
    assert one.output == "StepPaused at 1\n"


@pytest.mark.parametrize("form", ["xml", "jsonpath"])
async def test_an_unknown_form_is_refused(tmp_path: Path, form: str) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run("get", "web", "-o", form)
    assert result.exit_code == 2
    assert "is none of json, yaml, name, wide" in result.stderr


async def test_a_picture_that_moves_is_for_people(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run("get", "web", "-w", "-o", "name")
    assert result.exit_code == 2


@pytest.mark.parametrize("command", ["get", "describe", "why"])
async def test_several_are_one_document(tmp_path: Path, command: str) -> None:
    async with cluster(tmp_path, make_rollout(), make_rollout(name="api")) as api:
        found = await api.run(command, "web", "api", "-o", "yaml")
        one = await api.run(command, "web", "-o", "json")
    assert len(yaml.safe_load(found.output)) == 2
    assert isinstance(yaml.safe_load(found.output), list)
    assert isinstance(json.loads(one.output), dict)


async def test_the_version_of_the_program_alone_is_data_for_programs_too(tmp_path: Path) -> None:
    async with cluster(tmp_path) as api:
        result = await api.run("version", "--client", "-o", "json")
    assert json.loads(result.output) == {"client": program_version()}


@pytest.mark.parametrize("command", ["get", "get web", "status web"])
async def test_a_rollout_that_cannot_be_read_is_an_error_in_one_line(
    tmp_path: Path, command: str
) -> None:
    rollout = make_rollout()
    rollout["spec"] = "of another version"
    async with cluster(tmp_path, rollout) as api:
        result = await api.run(*command.split())
    assert result.exit_code == 1
    assert result.output.startswith("error: Rollout default/web cannot be read: ")
    assert result.output.count("\n") == 1
