"""`gate test --replay`: the past of a metric source, and how often the gate would have stopped a release."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.component.cli_gates.metrics import gate_test, source
from tests.component.cli_gates.test_gate_test import (
    OF_STABLE,
    always,
    gate,
    metric,
    rollout,
    written,
)

HOUR = 3600.0


def bad_until(end: float) -> Any:
    """Errors before `end`, none after."""
    return lambda query, at: 0.5 if at < end else 0.001


async def test_a_replay_says_how_often_when_and_why_a_gate_fails(tmp_path: Path) -> None:
    file = written(tmp_path, rollout(gate(metric(count=3, interval="1m", failureLimit=1))))
    middle = datetime.now(UTC).timestamp() - 12 * HOUR
    async with source(bad_until(middle)) as asked:
        result = await gate_test("-f", file, "--prometheus", asked.address, "--replay", "24h")
        data = await gate_test(
            *("-f", file, "--prometheus", asked.address, "--replay", "1d", "-o", "json")
        )
    assert result.exit_code == data.exit_code == 3, result.output
    first, sentence, heads, stop = result.output.splitlines()
    assert first == "Gate: step 1"
    assert "releases that began in the last 24h, the gate would have stopped 1" in sentence
    assert heads.split() == ["BEGAN", "FROM", "TO", "RELEASES", "VERDICT", "WHY"]
    assert "Failed" in stop
    assert "metric errors: 0.5 is above 0.01 (2 of 2 measurements failed)" in stop
    (gate_result,) = json.loads(data.output)["gates"]
    assert gate_result["releases"] == gate_result["stopped"] + gate_result["passed"]
    # every release that began in the bad half; they begin every four minutes
    assert abs(gate_result["stopped"] - 12 * 15) <= 1
    assert gate_result["stops"][0]["releases"] == gate_result["stopped"]


async def test_a_gate_that_would_have_let_all_pass_ends_with_0(tmp_path: Path) -> None:
    file = written(tmp_path, rollout(gate(metric())))
    async with source(always(0.0)) as asked:
        result = await gate_test("-f", file, "--prometheus", asked.address, "--replay", "2h")
    assert result.exit_code == 0
    assert "the gate would have stopped 0 (0 %); 1" in result.output


async def test_without_any_value_releases_would_have_waited(tmp_path: Path) -> None:
    file = written(tmp_path, rollout(gate(metric())))
    async with source(always(None)) as asked:
        result = await gate_test("-f", file, "--prometheus", asked.address, "--replay", "3h")
    assert result.exit_code == 0
    assert "would still have waited: errors: the query answered no value" in result.output


async def test_the_stable_revision_has_a_past_where_the_new_one_has_none(tmp_path: Path) -> None:
    file = written(tmp_path, rollout(gate(metric())))
    async with source(lambda query, at: 0.0 if query == OF_STABLE else None) as asked:
        result = await gate_test(
            *("-f", file, "--prometheus", asked.address, "--replay", "2h", "--as-stable")
        )
    assert "would still have waited" not in result.output
    assert asked.queries == {OF_STABLE}


async def test_requests_are_counted_in_the_past_too(tmp_path: Path) -> None:
    few = metric(minSamples=100)
    few["prometheus"]["samples"] = "requests"
    file = written(tmp_path, rollout(gate(few)))
    async with source(lambda query, at: 60.0 if query == "requests" else 0.0) as asked:
        result = await gate_test("-f", file, "--prometheus", asked.address, "--replay", "2h")
    assert "would still have waited: errors: needs 40 more requests" in result.output


async def test_a_long_range_is_asked_in_parts_that_a_prometheus_answers(tmp_path: Path) -> None:
    file = written(tmp_path, rollout(gate(metric(interval="30s"))))
    async with source(always(0.0)) as asked:
        result = await gate_test("-f", file, "--prometheus", asked.address, "--replay", "7d")
    assert result.exit_code == 0, result.output
    forms = [form for _, form, _ in asked.asked]
    assert len(forms) == 2
    for form in forms:
        points = (float(form["end"]) - float(form["start"])) / float(form["step"]) + 1
        assert points <= 10_000


async def test_a_metric_without_a_past_is_reported(tmp_path: Path) -> None:
    web = {"name": "page", "web": {"url": "http://nowhere/page.json", "valuePath": "rate"}}
    web["success"] = {"max": 1}
    result = await gate_test("-f", written(tmp_path, gate(web)), "--replay", "2h")
    assert result.exit_code == 1
    assert "metric page has no past: only PromQL can be played again" in result.output


async def test_a_source_that_is_down_is_reported(tmp_path: Path) -> None:
    async with source(always(0.0)) as gone:
        pass
    file = written(tmp_path, rollout(gate(metric())))
    result = await gate_test("-f", file, "--prometheus", gone.address, "--replay", "2h")
    assert result.exit_code == 1
    assert "cannot be played: no connection to" in result.output


async def test_a_range_too_short_for_one_release_is_reported(tmp_path: Path) -> None:
    file = written(tmp_path, rollout(gate(metric()), gate(metric())))
    async with source(always(0.0)) as asked:
        result = await gate_test(
            *("-f", file, "--prometheus", asked.address, "--step", "0", "--replay", "10m")
        )
    assert "no release would have ended within the last 10m" in result.output
