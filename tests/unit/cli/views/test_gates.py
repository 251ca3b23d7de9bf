"""The view of gates: the verdict, the last value against its bounds, and the time of the next measurement."""

from typing import Any

import msgspec
import pytest

from controller.api.analysis import Bounds, Comparison, Metric, ValueRule
from controller.cli.output import plain
from controller.cli.render.live_tree import rollout_tree
from controller.cli.render.why import answer
from controller.cli.views.gates import gate_views, wanted
from controller.cli.views.look import look_at
from controller.cli.views.view import RolloutView
from controller.cli.views.waiting import waits_for
from tests.unit.cli.builders import NOW, ago, make_observation, make_rollout

STEPS: list[dict[str, Any]] = [
    {
        "replicas": "20%",
        "analysis": {
            "metrics": [
                {"name": "errors", "success": {"max": 0.01}, "interval": "30s", "minSamples": 500},
                {"name": "latency", "initialDelay": "10m"},
            ]
        },
    },
    {"replicas": "100%"},
]
MESSAGE = "errors: needs 340 more requests: 160 of 500 so far; latency: not measured yet"


def run(step: int = 1, verdict: str = "Running", **fields: Any) -> dict[str, Any]:
    return {"step": step, "verdict": verdict, "startedAt": ago(60), "message": MESSAGE, **fields}


ERRORS = {
    "name": "errors",
    "reason": "needs 340 more requests: 160 of 500 so far",
    "lastAt": ago(10),
    "readings": [{"at": ago(10), "reading": "NoData", "value": 0.03}],
}
METRICS = [ERRORS, {"name": "latency"}, {"name": "from-template", "dryRun": True}]


def view(*runs: dict[str, Any], steps: list[dict[str, Any]] | None = None) -> RolloutView:
    rollout = make_rollout(
        state="StepMetricsAnalysis", steps=STEPS if steps is None else steps, analyses=list(runs)
    )
    return look_at(make_observation(rollout), NOW, {})


def test_the_tree_shows_values_bounds_and_the_next_measurement() -> None:
    lines = plain(rollout_tree(view(run(metrics=METRICS)), NOW)).splitlines()
    at = next(n for n, line in enumerate(lines) if "gate of step 1" in line)
    assert [line.strip("│├└─ ") for line in lines[at : at + 4]] == [
        "gate of step 1  Running  for 60s",
        (
            "errors  Running  0.03 (wanted: at most 0.01, from 500 requests on)  "
            "needs 340 more requests: 160 of 500 so far  measured next in 20s"
        ),
        "latency  Running  not measured yet  measured next in 9m",
        "from-template  Running  not measured yet  dry run",
    ]


def test_why_reports_gates_too_and_an_overdue_measurement_is_due_now() -> None:
    late = {**ERRORS, "lastAt": ago(31)}
    text = plain(answer(view(run(metrics=[late])), NOW))
    assert "waits for the verdict of the metrics: errors: needs 340 more requests" in text
    assert "measured next now" in text


def test_a_gate_that_is_over_is_not_measured_again() -> None:
    found = view(run(verdict="Failed", metrics=[{**ERRORS, "verdict": "Failed"}]))
    (gate,) = found.gates
    assert (gate.verdict, gate.metrics[0].next_at) == ("Failed", None)
    assert (
        "for 60s" not in plain(rollout_tree(found, NOW)).split("gate of step 1")[1].split("\n")[0]
    )


@pytest.mark.parametrize("over", [{"phase": "Healthy"}, {"phase": "Disabled"}])
def test_a_gate_without_a_verdict_does_not_run_after_its_release(over: dict[str, str]) -> None:
    status = {**over, "moonshift": {"step": 1, "analyses": [run(metrics=[ERRORS])]}}
    (gate,) = gate_views(msgspec.convert({"status": status}, type(make_rollout())))
    assert (gate.verdict, gate.metrics[0].verdict, gate.metrics[0].next_at) == (
        "Ended",
        "Ended",
        None,
    )


def test_the_gate_in_the_background_comes_first() -> None:
    found = view(run(), run(step=0))
    assert [gate.step for gate in found.gates] == [0, 1]
    assert "gate in the background  Running" in plain(rollout_tree(found, NOW))


def test_a_gate_whose_step_is_gone_shows_its_measurements() -> None:
    (gate,) = view(run(step=7, metrics=[ERRORS])).gates
    assert (gate.metrics[0].value, gate.metrics[0].wanted) == ("0.03", "")
    without_style = msgspec.convert(
        {"status": {"moonshift": {"step": 1, "analyses": [run(metrics=[ERRORS])]}}},
        type(make_rollout()),
    )
    assert gate_views(without_style)[0].metrics[0].wanted == ""


def test_values_that_json_has_no_number_for_are_shown_as_they_are() -> None:
    infinite = {**ERRORS, "readings": [{"reading": "Bad", "value": "inf"}]}
    (gate,) = view({**run(metrics=[infinite]), "startedAt": None}).gates
    assert (gate.metrics[0].value, gate.metrics[0].next_at) == ("inf", None)


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (Metric(), ""),
        (Metric(success=ValueRule()), ""),
        (Metric(success=ValueRule(min=0.9, max=1)), "at least 0.9 and at most 1"),
        (Metric(success=ValueRule(equals="ok")), "equal to ok"),
        (Metric(success=ValueRule(matches="^ok")), "matches ^ok"),
        (Metric(compare=Comparison(ratio=Bounds(max=2))), "ratio to stable at most 2"),
        (Metric(compare=Comparison(difference=Bounds(min=-1))), "difference to stable at least -1"),
    ],
)
def test_bounds_are_words(metric: Metric, text: str) -> None:
    assert wanted(metric) == text


def test_a_release_waits_for_the_verdict_of_its_steps_gate() -> None:
    other = make_rollout(state="StepMetricsAnalysis", steps=STEPS, analyses=[run(step=2)])
    assert waits_for(other) == "the verdict of the metrics"
    ours = make_rollout(state="StepMetricsAnalysis", steps=STEPS, analyses=[run()])
    assert waits_for(ours) == f"the verdict of the metrics: {MESSAGE}"
