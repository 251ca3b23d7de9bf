"""`approve` as a person types it: the requests, the output, the exit code."""

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

MERGE = "application/merge-patch+json"


READY = {"status": {"canaryStatus": {"currentStepState": "StepReady"}}}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("rollout approve rollout/web", id="as kubectl-kruise"),
        pytest.param("approve web", id="short"),
        pytest.param("approve ro web", id="type and name"),
        pytest.param("-n default approve rollouts.rollouts.kruise.io/web", id="namespace first"),
        pytest.param("rollout -n other approve web -n default", id="the innermost namespace wins"),
    ],
)
async def test_an_approval_is_one_patch_of_the_status(tmp_path: Path, line: str) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run(*line.split())
    assert (result.exit_code, result.output) == (0, "rollout.rollouts.kruise.io/web approved\n")
    assert api.patches == [(f"{ROLLOUTS}/web/status", MERGE, READY)]


async def test_an_approval_of_a_paused_rollout_says_what_it_waits_for(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(paused=True)) as api:
        result = await api.run("approve", "web")
    assert result.exit_code == 0
    assert result.stdout == (
        "rollout.rollouts.kruise.io/web approved; spec.strategy.paused is true: it goes on after `resume web`\n"
    )


async def test_nothing_is_sent_where_nothing_waits(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(state="StepUpgrade")) as api:
        result = await api.run("approve", "web")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: Rollout default/web is at step 1/2 in StepUpgrade")
    assert api.patches == []


async def test_several_are_approved_as_far_as_possible(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(), make_rollout(name="api")) as api:
        result = await api.run("approve", "nope", "web", "none", "api")
    assert result.exit_code == 1
    assert result.stdout.count("approved") == 2
    assert result.stderr.count("error: there is no Rollout") == 2


async def test_an_exact_approval_tests_the_step(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(step=2)) as api:
        result = await api.run("approve", "web", "--step", "2")
        refused = await api.run("approve", "web", "--step", "1")
    assert result.exit_code == 0
    ((path, content_type, operations),) = api.patches
    assert (path, content_type) == (f"{ROLLOUTS}/web/status", JSON)
    assert [operation["op"] for operation in operations] == ["test", "test", "add"]
    assert operations[2]["value"]["step"] == 2
    assert refused.exit_code == 1
    assert "at step 2/2 (StepPaused), not at step 1" in refused.stderr


async def test_a_message_goes_with_an_approval_of_the_step_that_waits(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(step=2)) as api:
        result = await api.run("approve", "web", "--message", "load test")
    assert result.exit_code == 0
    ((_, content_type, operations),) = api.patches
    assert content_type == JSON
    assert operations[0] == {"op": "test", "path": "/status/moonshift/step", "value": 2}
    assert (operations[2]["value"]["step"], operations[2]["value"]["message"]) == (2, "load test")


async def test_an_exact_approval_that_loses_the_race_approves_nothing(tmp_path: Path) -> None:
    text = "the server rejected our request due to an error in our request"
    async with cluster(tmp_path, make_rollout()) as api:
        api.overrides["PATCH", f"{ROLLOUTS}/web/status"] = (422, status(422, "Invalid", text))
        result = await api.run("approve", "web", "--step", "1")
    assert result.exit_code == 1
    assert "changed meanwhile; nothing was approved" in result.stderr


def pending(version: str) -> dict[str, Any]:
    """The mailbox holds an approval that nobody has read."""
    rollout = make_rollout(version=version)
    rollout["status"]["canaryStatus"]["currentStepState"] = "StepReady"
    return rollout


async def test_wait_ends_when_the_controller_went_on(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        api.after_patch[f"{ROLLOUTS}/web"] = pending("6")
        api.changes_to(make_rollout(step=2, state="StepUpgrade", version="7"))
        result = await api.run("approve", "web", "--wait")
    assert result.exit_code == 0
    assert result.output.splitlines()[1] == (
        "rollout.rollouts.kruise.io/web is at step 2/2 (StepUpgrade)"
    )


async def test_wait_reports_a_reset_approval(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        api.after_patch[f"{ROLLOUTS}/web"] = pending("6")
        api.changes_to(make_rollout(version="7"))
        result = await api.run("approve", "web", "--wait")
    assert result.exit_code == 1
    assert "reset the approval" in result.stderr


async def test_wait_says_when_no_controller_answers(tmp_path: Path) -> None:
    pending = make_rollout()
    pending["status"]["moonshift"]["approval"] = {"step": 1}
    async with cluster(tmp_path, pending) as api:
        result = await api.run("approve", "web", "--wait", "--timeout", "100ms")
    assert result.exit_code == 5
    assert "the controller did not act on it within 0.1 s: no Lease kruise-rollout" in result.stderr


async def test_a_rollout_that_may_not_be_read_keeps_no_other_from_its_approval(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path, make_rollout(), make_rollout(name="api")) as api:
        api.overrides["GET", f"{ROLLOUTS}/web"] = (403, status(403, "Forbidden", "not yours"))
        result = await api.run("approve", "web", "api")
    assert result.exit_code == 1
    assert result.stdout == "rollout.rollouts.kruise.io/api approved\n"
    assert result.stderr == "error: refused: not yours\n"


async def test_without_a_timeout_the_wait_for_the_controller_has_no_end(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        api.after_patch[f"{ROLLOUTS}/web"] = pending("6")
        api.changes_to(make_rollout(step=2, state="StepUpgrade", version="7"))
        result = await api.run("approve", "web", "--wait", "--timeout", "0")
    assert result.exit_code == 0, result.stderr
    assert "is at step 2/2" in result.stdout
