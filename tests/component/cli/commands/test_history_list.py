"""`history` lists releases, newest first, or says why there are none."""

import json
from pathlib import Path
from typing import Any

from tests.component.cli.double import (
    cluster,
    make_rollout,
)

HISTORIES = "/apis/rollouts.kruise.io/v1alpha1/namespaces/default/rollouthistories"


def record(name: str, ended: str, outcome: str) -> dict[str, Any]:
    """A release that was written down."""
    return {
        "metadata": {"name": name, "namespace": "default"},
        "status": {
            "phase": "completed",
            "revision": name,
            "outcome": outcome,
            "endedAt": ended,
            "workingSeconds": 12,
            "waitingSeconds": 3600,
            "approvals": [{"step": 1, "by": "ann"}, {"step": 2, "by": "ann"}],
            "canarySteps": [
                {"canaryStepIndex": 1, "visits": [{"step": 1}]},
                {"canaryStepIndex": 2},
            ],
        },
    }


async def test_history_lists_the_newest_release_first(tmp_path: Path) -> None:
    items = [
        record("older", "2026-01-01T00:00:00Z", "Succeeded"),
        record("newer", "2026-02-01T00:00:00Z", "RolledBack"),
    ]
    async with cluster(tmp_path, make_rollout()) as api:
        api.overrides["GET", HISTORIES] = (200, {"metadata": {}, "items": items})
        result = await api.run("history", "web")
    assert result.exit_code == 0
    head, first, second = result.output.splitlines()
    assert head.split()[:4] == ["RELEASE", "OUTCOME", "STEPS", "WORKED"]
    assert first.split()[:7] == ["newer", "RolledBack", "1/2", "12s", "60m", "-", "ann"]
    assert second.split()[0] == "older"


async def test_history_shows_how_the_gates_of_steps_ended(tmp_path: Path) -> None:
    item = record("web1", "2026-01-01T00:00:00Z", "RolledBack")
    item["status"]["canarySteps"] = [
        {"canaryStepIndex": 1, "visits": [{"step": 1, "analysis": "Passed: 1 of 1 passed"}]},
        {"canaryStepIndex": 2, "visits": [{"step": 2, "analysis": "Failed: errors"}, {"step": 2}]},
    ]
    async with cluster(tmp_path, make_rollout()) as api:
        api.overrides["GET", HISTORIES] = (200, {"metadata": {}, "items": [item]})
        result = await api.run("history", "web")
        data = await api.run("history", "web", "-o", "json")
    assert "1 Passed, 2 Failed" in result.output
    assert json.loads(data.output)[0]["status"]["canarySteps"][1]["visits"][0] == {
        "step": 2,
        "analysis": "Failed: errors",
    }


async def test_history_says_why_there_is_none(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        api.overrides["GET", HISTORIES] = (200, {"metadata": {}, "items": []})
        result = await api.run("history", "web")
    assert result.exit_code == 1
    assert "--feature-gates=RolloutHistory=true" in result.stderr
