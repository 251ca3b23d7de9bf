"""`simulate --metric`: a release with gates, played with given values."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from controller.cli.main import cli
from tests.component.cli_simulation.test_simulate import ROUTE, SERVICE, rollout, workload

METRIC: dict[str, Any] = {
    "name": "errors",
    "success": {"max": 0.01},
    "count": 3,
    "failureLimit": 1,
    "prometheus": {"query": 'rate(errors{service="{{ service }}"}[{{ window }}])'},
}


def steps(**analysis: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    gate = {"metrics": [METRIC], **analysis}
    return {"replicas": 1, "traffic": "20%", "analysis": gate}, {"replicas": "100%"}


def simulate(tmp_path: Path, plan: dict[str, Any], *arguments: str, more: Any = ()) -> Result:
    objects = [plan, workload(), SERVICE, ROUTE, *more]
    (tmp_path / "app.yaml").write_text(yaml.safe_dump_all(json.loads(json.dumps(objects))))
    return CliRunner().invoke(
        cli, ["simulate", "-f", str(tmp_path), *arguments], prog_name="moonshift"
    )


def test_good_values_let_the_release_through(tmp_path: Path) -> None:
    plan = rollout(*steps())
    result = simulate(tmp_path, plan, "--metric", "errors=0.5,0.001", "-o", "json")
    assert result.exit_code == 0, result.output
    first, last = json.loads(result.output)["steps"]
    assert first["metrics"] == "Passed: 1 of 1 metrics passed"
    assert last["metrics"] == ""


def test_bad_values_stop_the_simulation_at_the_step(tmp_path: Path) -> None:
    result = simulate(tmp_path, rollout(*steps()), "--metric", "errors=0.001,0.5")
    assert result.exit_code == 1
    assert "  metrics   Failed: metric errors: 0.5 is above 0.01" in result.output
    assert "stops: the gate of step 1 failed: metric errors: 0.5 is above 0.01" in result.output
    assert "Step 2" not in result.output


def test_a_rollback_is_reported_with_its_reason(tmp_path: Path) -> None:
    plan = rollout(*steps(onFailure="rollback"))
    result = simulate(tmp_path, plan, "--metric", "errors=0.5", "-o", "markdown")
    assert result.exit_code == 1
    assert "the gate of step 1 failed: metric errors: 0.5 is above 0.01" in result.output
    assert "the new revision is rolled back" in result.output


def test_texts_are_played_too(tmp_path: Path) -> None:
    health = {
        "name": "health",
        "success": {"equals": "ok"},
        "web": {"url": "http://health.test/", "format": "text"},
        "count": 2,
    }
    plan = rollout(*steps(metrics=[health]))
    assert simulate(tmp_path, plan, "--metric", "health=ok").exit_code == 0
    worse = simulate(tmp_path, plan, "--metric", "health=ok,degraded")
    assert worse.exit_code == 1
    assert 'Failed: metric health: a text of 8 characters is not "ok"' in worse.output


def test_the_values_of_the_stable_revision_are_compared_with(tmp_path: Path) -> None:
    compared = {**METRIC, "compare": {"ratio": {"max": 2}}, "success": {}, "failureLimit": 0}
    plan = rollout(*steps(metrics=[compared]))
    values = ("--metric", "errors=0.3", "--metric", "errors/stable=0.2")
    assert simulate(tmp_path, plan, *values).exit_code == 0
    worse = simulate(tmp_path, plan, "--metric", "errors=0.3", "--metric", "errors/stable=0.1")
    assert worse.exit_code == 1
    assert "the ratio 3 is above 2" in worse.output


def test_without_values_the_simulation_names_the_step_at_which_the_release_would_wait(
    tmp_path: Path,
) -> None:
    result = simulate(tmp_path, rollout(*steps()))
    assert result.exit_code == 1
    assert "stops: step 1 waits for data: errors (" in result.output
    assert "give values with --metric errors=VALUE,VALUE" in result.output


def test_insufficient_values_are_reported_too(tmp_path: Path) -> None:
    result = simulate(tmp_path, rollout(*steps()), "--metric", "errors=0.001,nan")
    assert "step 1 waits for data" in result.output


def test_a_deadline_ends_the_wait(tmp_path: Path) -> None:
    plan = rollout(*steps(deadlineSeconds=120))
    result = simulate(tmp_path, plan)
    assert result.exit_code == 1
    assert "the gate of step 1 gives no verdict: no verdict within 120 s" in result.output


def test_a_template_is_found_among_the_files(tmp_path: Path) -> None:
    template = {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": "AnalysisTemplate",
        "metadata": {"name": "errors", "namespace": "demo"},
        "spec": {"metrics": [METRIC]},
    }
    plan = rollout(*steps(metrics=[], templates=[{"name": "errors"}]))
    found = simulate(tmp_path, plan, "--metric", "errors=0", more=[template])
    assert found.exit_code == 0, found.output
    missing = simulate(tmp_path, plan, "--metric", "errors=0")
    assert missing.exit_code == 1
    assert "AnalysisTemplate errors does not exist" in missing.output


def test_a_gate_in_the_background_stops_the_release_too(tmp_path: Path) -> None:
    plan = rollout({"replicas": 1, "traffic": "20%"}, {"replicas": "100%"})
    plan["spec"]["strategy"]["canary"]["analysis"] = {"metrics": [{**METRIC, "failureLimit": 0}]}
    result = simulate(tmp_path, plan, "--metric", "errors=0.5")
    assert result.exit_code == 1
    assert "metric errors: 0.5 is above 0.01" in result.output


@pytest.mark.parametrize("text", ["errors", "errors=", "errors=1,,2", "=1"])
def test_a_wrong_series_is_a_wrong_command_line(tmp_path: Path, text: str) -> None:
    result = simulate(tmp_path, rollout(*steps()), "--metric", text)
    assert result.exit_code == 2
    assert f"--metric {text}: write it as NAME=VALUE,VALUE" in result.output
