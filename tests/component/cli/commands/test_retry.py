"""`retry` lets a revision or a gate be tried again."""

from pathlib import Path

from tests.component.cli.commands.scenes import JSON
from tests.component.cli.double import (
    ROLLOUTS,
    cluster,
    make_rollout,
)


async def test_a_retry_lets_go_of_the_revision_that_was_seen(tmp_path: Path) -> None:
    rollout = make_rollout()
    rollout["status"]["moonshift"]["failedTemplate"] = "abc"
    async with cluster(tmp_path, rollout, make_rollout(name="api")) as api:
        result = await api.run("retry", "web")
        nothing = await api.run("retry", "api")
    assert (
        result.output
        == "rollout.rollouts.kruise.io/web: the revision that was given up may be tried again\n"
    )
    place = "/status/moonshift/failedTemplate"
    ((path, content_type, operations),) = api.patches
    assert (path, content_type) == (f"{ROLLOUTS}/web/status", JSON)
    assert operations == [
        {"op": "test", "path": place, "value": "abc"},
        {"op": "remove", "path": place},
    ]
    assert nothing.exit_code == 1
    assert "has given no revision up" in nothing.stderr


async def test_a_retry_forgets_the_gates_that_failed_and_no_other(tmp_path: Path) -> None:
    rollout = make_rollout()
    rollout["status"]["moonshift"]["analyses"] = [
        {"verdict": "Inconclusive"},
        {"step": 2, "verdict": "Passed"},
        {"step": 1, "verdict": "Failed"},
    ]
    async with cluster(tmp_path, rollout) as api:
        result = await api.run("retry", "web")
    assert result.output == "rollout.rollouts.kruise.io/web: its metrics are measured again\n"
    ((_, _, operations),) = api.patches
    analyses = "/status/moonshift/analyses"
    assert operations == [
        {"op": "test", "path": f"{analyses}/2/step", "value": 1},
        {"op": "test", "path": f"{analyses}/2/verdict", "value": "Failed"},
        {"op": "remove", "path": f"{analyses}/2"},
        {"op": "test", "path": f"{analyses}/0/verdict", "value": "Inconclusive"},
        {"op": "remove", "path": f"{analyses}/0"},
    ]


async def test_a_retry_forgets_the_checks_that_failed_and_no_other(tmp_path: Path) -> None:
    rollout = make_rollout()
    rollout["status"]["moonshift"]["checks"] = [
        {"id": "1", "name": "change", "verdict": "Passed"},
        {"id": "2", "name": "load", "verdict": "Failed"},
    ]
    async with cluster(tmp_path, rollout) as api:
        result = await api.run("retry", "web")
    assert result.output == "rollout.rollouts.kruise.io/web: its checks are asked again\n"
    ((_, _, operations),) = api.patches
    checks = "/status/moonshift/checks"
    assert operations == [
        {"op": "test", "path": f"{checks}/1/id", "value": "2"},
        {"op": "test", "path": f"{checks}/1/verdict", "value": "Failed"},
        {"op": "remove", "path": f"{checks}/1"},
    ]
