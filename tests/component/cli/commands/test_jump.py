"""`jump` leaves the step that was seen, and goes nowhere else."""

from pathlib import Path
from typing import Any

import pytest

from tests.component.cli.commands.scenes import JSON
from tests.component.cli.double import (
    ROLLOUTS,
    cluster,
    make_rollout,
)
from tests.component.kube.faulty_server import status


async def test_a_jump_tests_the_step_it_leaves(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(step=1)) as api:
        result = await api.run("jump", "rollout/web", "--to", "2")
    assert (result.exit_code, result.output) == (
        0,
        "rollout.rollouts.kruise.io/web jumps from step 1 to step 2\n",
    )
    ((path, content_type, operations),) = api.patches
    assert (path, content_type) == (f"{ROLLOUTS}/web/status", JSON)
    assert operations == [
        {"op": "test", "path": "/status/moonshift/step", "value": 1},
        {"op": "add", "path": "/status/moonshift/jump", "value": 2},
    ]


async def test_a_jump_that_loses_the_race_moves_nothing(tmp_path: Path) -> None:
    text = "the server rejected our request due to an error in our request"
    async with cluster(tmp_path, make_rollout()) as api:
        api.overrides["PATCH", f"{ROLLOUTS}/web/status"] = (422, status(422, "Invalid", text))
        result = await api.run("jump", "web", "--to", "2")
    assert result.exit_code == 1
    assert "it did not jump: look, then repeat" in result.stderr


@pytest.mark.parametrize(
    ("to", "edit", "why"),
    [
        ("3", {}, "has steps 1 to 2, no step 3"),
        ("2", {"phase": "Healthy"}, "has no release under way (Healthy)"),
        ("2", {"moonshift": {}}, "is not led by Moonshift"),
        ("2", {"moonshift": {"state": "Completed", "goal": "Success"}}, "is past its steps"),
    ],
)
async def test_a_jump_to_nowhere_is_refused(
    tmp_path: Path, to: str, edit: dict[str, Any], why: str
) -> None:
    rollout = make_rollout()
    rollout["status"].update(edit)
    async with cluster(tmp_path, rollout) as api:
        result = await api.run("jump", "web", "--to", to)
    assert result.exit_code == 1
    assert why in result.stderr
    assert api.patches == []
