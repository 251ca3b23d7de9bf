"""`promote`: its requests, and the time when it ends."""

from pathlib import Path
from typing import Any

import pytest

from controller.cli.commands import undo
from tests.component.cli.commands.test_status import SUCCEEDED
from tests.component.cli.commands.test_undo import with_workload
from tests.component.cli.double import DEPLOYMENTS, ROLLOUTS, cluster, make_rollout
from tests.component.kube.faulty_server import status

STATUS = f"{ROLLOUTS}/web/status"


def half(**more: Any) -> dict[str, Any]:
    """A plan whose last step waits for a person."""
    rollout = make_rollout(**more)
    rollout["spec"]["strategy"]["canary"]["steps"][1]["replicas"] = "80%"
    return rollout


async def test_promote_approves_the_step_it_saw(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run("promote", "web")
    assert result.output == "rollout.rollouts.kruise.io/web promoted past step 1\n"
    ((path, _, operations),) = api.patches
    assert path == STATUS
    assert operations[0] == {"op": "test", "path": "/status/moonshift/step", "value": 1}
    assert operations[2]["value"]["step"] == 1


async def test_promote_resumes_a_paused_release(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(paused=True, state="StepUpgrade")) as api:
        result = await api.run("promote", "web")
    assert result.output == "rollout.rollouts.kruise.io/web resumed\n"
    assert [body for _, _, body in api.patches] == [{"spec": {"strategy": {"paused": None}}}]


async def test_a_release_that_does_not_wait_is_not_promoted(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(state="StepUpgrade")) as api:
        working = await api.run("promote", "web")
        api.collections[ROLLOUTS] = [make_rollout(phase="Healthy", conditions=[SUCCEEDED])]
        over = await api.run("promote", "web", "--full")
    assert "not in StepPaused" in working.stderr
    assert "has no release under way (Healthy)" in over.stderr
    assert api.patches == []


async def test_full_jumps_to_the_last_step_and_leaves_its_pause_out(tmp_path: Path) -> None:
    async with cluster(tmp_path, half()) as api:
        api.after_patch[f"{ROLLOUTS}/web"] = half(step=2, version="6")
        result = await api.run("promote", "web", "--full")
    assert result.exit_code == 0, result.stderr
    assert result.output.splitlines() == [
        "rollout.rollouts.kruise.io/web jumps from step 1 to step 2, the last",
        "rollout.rollouts.kruise.io/web fully promoted",
    ]
    jump, approval = (operations for _, _, operations in api.patches)
    assert jump[-1] == {"op": "add", "path": "/status/moonshift/jump", "value": 2}
    assert approval[-1]["path"] == "/status/moonshift/approval"
    assert approval[-1]["value"]["step"] == 2


async def test_full_ends_in_time_and_names_its_wait(tmp_path: Path) -> None:
    async with cluster(tmp_path, half(step=2, state="StepUpgrade")) as api:
        result = await api.run("promote", "web", "--full", "--timeout", "100ms")
    assert result.exit_code == 5
    assert "waits for the new pods of this step to be ready" in result.stderr
    assert api.patches == []


async def test_full_is_refused_by_the_api_server_in_its_words(tmp_path: Path) -> None:
    text = (
        'rollouts.rollouts.kruise.io "web" is forbidden: User "jane" cannot patch resource "rollouts/status" in '
        'API group "rollouts.kruise.io" in the namespace "default"'
    )
    async with cluster(tmp_path, half()) as api:
        api.overrides["PATCH", STATUS] = (403, status(403, "Forbidden", text))
        result = await api.run("promote", "web", "--full")
    assert result.exit_code == 1
    assert "forbidden: user jane may not patch rollouts/status" in result.stderr


async def test_abort_takes_a_release_back_as_undo_does(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        with_workload(api)
        result = await api.run("abort", "web")
    assert result.stdout == "rollout.rollouts.kruise.io/web rolled back\n"
    assert [path for path, _, _ in api.patches] == [f"{DEPLOYMENTS}/app"]


async def test_abort_starts_no_release_where_none_is_under_way(tmp_path: Path) -> None:
    over = make_rollout(phase="Healthy", conditions=[SUCCEEDED])
    async with cluster(tmp_path, over) as api:
        with_workload(api)
        result = await api.run("abort", "web")
    assert result.exit_code == 1
    assert "no release of Rollout default/web is under way: nothing to abort" in result.stderr
    assert "kubectl moonshift undo web -n default" in result.stderr
    assert api.patches == []


async def test_undo_after_a_release_says_that_a_new_release_starts(tmp_path: Path) -> None:
    over = make_rollout(phase="Healthy", conditions=[SUCCEEDED])
    async with cluster(tmp_path, over) as api:
        with_workload(api)
        result = await api.run("undo", "web")
    assert result.exit_code == 0
    assert result.stdout == ("rollout.rollouts.kruise.io/web begins a release of its own, back\n")
    assert result.stderr.endswith(
        "no release of Rollout default/web is under way: this starts one, of 2 steps, back to old1 (no image)\n"
    )


@pytest.mark.parametrize(("answer", "sent"), [("y\n", 1), ("n\n", 0)])
async def test_undo_asks_first_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, sent: int
) -> None:
    monkeypatch.setattr(undo, "is_terminal", lambda: True)
    over = make_rollout(phase="Healthy", conditions=[SUCCEEDED])
    async with cluster(tmp_path, over) as api:
        with_workload(api)
        result = await api.run("undo", "web", input=answer)
    assert len(api.patches) == sent
    assert ("nothing was changed" in result.stderr) == (not sent)


async def test_undo_with_yes_asks_nothing_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo, "is_terminal", lambda: True)
    async with cluster(tmp_path, make_rollout(phase="Healthy", conditions=[SUCCEEDED])) as api:
        with_workload(api)
        result = await api.run("undo", "web", "--yes")
    assert result.exit_code == 0
    assert len(api.patches) == 1


async def test_the_help_says_where_an_interrupted_promotion_waits(tmp_path: Path) -> None:
    async with cluster(tmp_path) as api:
        text = " ".join((await api.run("promote", "--help")).output.split())
    assert "If promote --full is interrupted" in text
    assert "to its last step and waits there: run the command again" in text


async def test_without_a_timeout_full_waits_without_end(tmp_path: Path) -> None:
    async with cluster(tmp_path, half()) as api:
        api.after_patch[f"{ROLLOUTS}/web"] = half(step=2, version="6")
        result = await api.run("promote", "web", "--full", "--timeout", "0")
    assert result.exit_code == 0, result.stderr
    assert "fully promoted" in result.stdout
