"""The manifests that a simulation refuses before it starts, in the words of an API server."""

from typing import Any

import pytest

from controller.cli.simulation.built_in import MAX_PODS, workload_problems
from controller.cli.simulation.schema import schema_problems


def rollout(**strategy: Any) -> Any:
    canary = {"steps": [{"replicas": 1}], **strategy}
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": "web"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "strategy": {"canary": canary},
        },
    }


STEP = "spec.strategy.canary.steps[0]"


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({"stepz": []}, 'unknown field "spec.strategy.canary.stepz"'),
        (
            {"steps": [{"replicas": 1, "trafficShare": "5%"}]},
            f'unknown field "{STEP}.trafficShare"',
        ),
        (
            {"steps": [{"replicas": [1]}]},
            f"{STEP}.replicas: Invalid value: must be of type integer or string, not a list",
        ),
        (
            {"steps": {}},
            "spec.strategy.canary.steps: Invalid value: must be of type array, not an object",
        ),
        (
            {"steps": [{"replicas": 1, "pause": {"duration": "1m"}}]},
            f'{STEP}.pause.duration: Invalid value: must be of type integer, not "1m"',
        ),
        (
            {"steps": [{"replicas": 1, "pause": {"duration": 2**40}}]},
            f"{STEP}.pause.duration: Invalid value: {2**40} should be at most {2**31 - 1}",
        ),
        (
            {
                "steps": [
                    {
                        "replicas": 1,
                        "matches": [{"headers": [{"name": "a", "value": "b", "type": "Like"}]}],
                    }
                ]
            },
            (
                f'{STEP}.matches[0].headers[0].type: Unsupported value: "Like": '
                'supported values: "Exact", "RegularExpression"'
            ),
        ),
        (
            {"steps": [{"replicas": 1, "matches": [{"headers": [{"value": "b"}]}]}]},
            f"{STEP}.matches[0].headers[0].name: Required value",
        ),
        (
            {"steps": [{"replicas": 1}] * 51},
            "spec.strategy.canary.steps: Too long: it may have at most 50 items",
        ),
    ],
)
def test_a_violation_of_the_schema_is_named_with_its_field(strategy: Any, expected: str) -> None:
    assert schema_problems(rollout(**strategy)) == (expected,)


def test_a_missing_field_at_the_root_is_named() -> None:
    assert schema_problems({"apiVersion": "rollouts.kruise.io/v1beta1", "kind": "Rollout"}) == ()
    bare = {**rollout(), "spec": {}}
    assert "spec.strategy: Required value" in schema_problems(bare)
    assert schema_problems({**rollout(), "sepc": 1}) == ('unknown field "sepc"',)


def test_null_counts_as_left_out() -> None:
    assert schema_problems(rollout(trafficRoutings=None)) == ()


def test_a_kind_of_somebody_else_is_not_judged() -> None:
    assert schema_problems({"apiVersion": "v1", "kind": "Service", "spec": 3}) == ()


def workload(**spec: Any) -> Any:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a"}]}}
    selector = {"matchLabels": {"app": "web"}}
    whole = {"replicas": 1, "selector": selector, "template": template, **spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": whole,
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"replicas": -1}, "spec.replicas: Invalid value: -1 should be at least 0"),
        (
            {"replicas": MAX_PODS + 1},
            f"spec.replicas: a simulation plays at most {MAX_PODS} pods",
        ),
        ({"template": None}, "spec.template: Required value"),
        (
            {"selector": {"matchLabels": {"app": "api"}}},
            "spec.template.metadata.labels: Invalid value: the selector does not match them",
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": "a lot"}}},
            "spec.strategy.rollingUpdate.maxSurge: Invalid value: \"a lot\" should match '^[0-9]+%?$'",
        ),
    ],
)
def test_a_workload_that_the_api_server_refuses_is_refused(spec: Any, expected: str) -> None:
    assert workload_problems(workload(**spec)) == (expected,)


def test_a_whole_workload_has_no_problem() -> None:
    assert workload_problems(workload()) == ()
