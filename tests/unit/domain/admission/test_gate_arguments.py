"""An author hears at admission which argument of a gate its Job will not get."""

import pytest

from controller.api.jsontree import JsonObject
from controller.api.names import V1BETA1
from controller.domain.admission.gate_arguments import misplaced_arguments


def rollout(container: JsonObject, source: str = "annotation", style: str = "canary") -> JsonObject:
    analysis = {
        "args": [{"name": "zone", "valueFrom": {source: "zone"}}, {"name": "own", "value": "1"}],
        "metrics": [{"job": {"spec": {"template": {"spec": {"containers": [container]}}}}}, {}],
    }
    plan = {"analysis": {}, "steps": [{}, {"analysis": analysis}]}
    return {"apiVersion": V1BETA1, "kind": "Rollout", "spec": {"strategy": {style: plan}}}


@pytest.mark.parametrize("source", ["annotation", "label"])
@pytest.mark.parametrize("style", ["canary", "blueGreen"])
def test_an_argument_of_the_workload_in_a_command_is_named_with_its_remedy(
    source: str, style: str
) -> None:
    script = "smoke {{ args.zone }} {{args.zone}} {{ args.own }}"
    (found,) = misplaced_arguments(rollout({"command": ["sh", "-c", script]}, source, style))
    assert found.startswith(f"spec.strategy.{style}.steps[1].analysis: {{{{ args.zone }}}}")
    assert '"$MOONSHIFT_ARG_ZONE" in a shell script' in found


@pytest.mark.parametrize(
    ("container", "source"),
    [
        ({"env": [{"name": "ZONE", "value": "{{ args.zone }}"}]}, "annotation"),
        ({"args": ["{{ args.own }}"]}, "annotation"),
        ({"args": ["{{ args.zone }}"]}, "nothing"),
    ],
)
def test_what_a_job_gets_is_not_warned_about(container: JsonObject, source: str) -> None:
    assert misplaced_arguments(rollout(container, source)) == ()


@pytest.mark.parametrize(
    "obj", [{}, {"apiVersion": "other/v1"}, {"apiVersion": V1BETA1, "spec": 1}]
)
def test_any_json_is_read(obj: JsonObject) -> None:
    assert misplaced_arguments(obj) == ()
