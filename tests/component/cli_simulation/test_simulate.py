"""`simulate` as a person runs it: manifests in, every step out, with the real scripts in a private worker."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from controller.cli.main import cli

EXAMPLE = Path(__file__).parents[3] / "examples" / "istio-canary"
ROUTE = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "HTTPRoute",
    "metadata": {"name": "web", "namespace": "demo"},
    "spec": {"rules": [{"backendRefs": [{"name": "web", "port": 80}]}]},
}
INGRESS = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": "web", "namespace": "demo"},
    "spec": {
        "rules": [
            {
                "host": "h",
                "http": {
                    "paths": [
                        {
                            "path": "/",
                            "pathType": "Prefix",
                            "backend": {"service": {"name": "web", "port": {"number": 80}}},
                        }
                    ]
                },
            }
        ]
    },
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "demo"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
}


def workload(kind: str = "Deployment", **spec: Any) -> Any:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "web:v1"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "demo", "uid": "x", "resourceVersion": "9"},
        "spec": {
            "replicas": 4,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template,
            **spec,
        },
        "status": {"replicas": 4},
    }


STEPS = (
    {"replicas": 1, "traffic": "20%", "pause": {"duration": 600}},
    {"replicas": "100%"},
)


def rollout(*steps: Any, kind: str = "Deployment", **routing: Any) -> Any:
    entry = {"service": "web", **(routing or {"gateway": {"httpRouteName": "web"}})}
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "demo"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": kind, "name": "web"},
            "strategy": {"canary": {"steps": list(steps or STEPS), "trafficRoutings": [entry]}},
        },
    }


def simulate(tmp_path: Path, *objects: Any, form: str = "") -> Result:
    (tmp_path / "app.yaml").write_text(yaml.safe_dump_all(copy.deepcopy(objects)))
    arguments = ["simulate", "-f", str(tmp_path), *(["-o", form] if form else [])]
    return CliRunner().invoke(cli, arguments, prog_name="moonshift")


def report(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_each_step_shows_pods_services_and_routes_and_the_end_restores_all(
    tmp_path: Path,
) -> None:
    found = report(simulate(tmp_path, rollout(), workload(), SERVICE, ROUTE, form="json"))
    assert found["restored"] is True
    first, last = found["steps"]
    assert (first["oldPods"], first["newPods"], first["newReady"]) == (3, 1, 1)
    assert set(first["services"]) == {"web", "web-canary"}
    assert first["services"]["web-canary"]["endpoints"] == 1
    (diff,) = first["routes"]
    added = {line.strip("+ ") for line in diff["diff"] if line.startswith("+")}
    assert {"weight: 80", "weight: 20", "name: web-canary"} <= {x.lstrip("- ") for x in added}
    assert (last["oldReady"], last["newPods"], last["newReady"]) == (0, 4, 4)


def test_a_canary_ingress_is_shown_as_made(tmp_path: Path) -> None:
    routed = rollout(ingress={"name": "web"})
    found = report(simulate(tmp_path, routed, workload(), SERVICE, INGRESS, form="json"))
    (diff,) = found["steps"][0]["routes"]
    assert (diff["kind"], diff["name"], diff["what"]) == ("Ingress", "web-canary", "made")
    assert any("canary-weight" in line for line in diff["diff"])
    assert not any("moonshift.dev" in line for line in diff["diff"])


def test_neighbours_among_the_manifests_are_warned_of(tmp_path: Path) -> None:
    other = {**ROUTE, "metadata": {"name": "other", "namespace": "demo"}}
    found = report(simulate(tmp_path, rollout(), workload(), SERVICE, ROUTE, other, form="json"))
    assert any("HTTPRoute demo/other leads to Service web, too" in one for one in found["warnings"])


def test_the_examples_release_is_sound_in_words_and_in_markdown() -> None:
    for form, words in (("", "Step 1"), ("markdown", "## Step 1")):
        arguments = ["simulate", "-f", str(EXAMPLE), *(["-o", form] if form else [])]
        result = CliRunner().invoke(cli, arguments, prog_name="moonshift")
        assert result.exit_code == 0, result.output
        assert words in result.output
        assert "every gateway object is as it was" in result.output


def test_other_workloads_are_played_too(tmp_path: Path) -> None:
    plan = rollout({"replicas": 1, "traffic": "20%"}, {"replicas": 4}, kind="StatefulSet")
    found = report(simulate(tmp_path, plan, workload("StatefulSet"), SERVICE, ROUTE, form="json"))
    assert [(step["oldPods"], step["newPods"]) for step in found["steps"]] == [(3, 1), (0, 4)]


def test_blue_green_is_played_too(tmp_path: Path) -> None:
    plan = rollout({"replicas": "100%", "traffic": "0%"}, {"replicas": "100%", "traffic": "100%"})
    strategy = plan["spec"]["strategy"]
    strategy["blueGreen"] = strategy.pop("canary")
    found = report(simulate(tmp_path, plan, workload(), SERVICE, ROUTE, form="json"))
    assert [(step["oldReady"], step["newReady"]) for step in found["steps"]] == [(4, 4), (4, 4)]
    diff = found["steps"][1]["routes"][0]["diff"]
    assert any("web-canary" in line for line in diff)


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        (
            (rollout({"replicas": 1, "traffic": "0%"}), workload()),
            "refused: spec.strategy.canary.steps[0].traffic: Invalid value",
        ),
        (
            (rollout(ingress={"name": "web", "classType": "kong"}), workload()),
            "cannot divide requests by weight",
        ),
        ((rollout(), workload(), ROUTE), "Service demo/web does not exist"),
        ((rollout(), workload(), SERVICE), "HTTPRoute demo/web does not exist"),
        (
            (rollout(), workload(), SERVICE, {**ROUTE, "spec": {"rules": []}}),
            "no rule of this HTTPRoute points at Service web",
        ),
        ((rollout(), SERVICE, ROUTE), "there is no Deployment demo/web among the objects"),
        ((workload(),), "there is no Rollout"),
        ((rollout(), rollout()), "there are several Rollouts"),
    ],
)
def test_an_obstacle_of_the_release_is_reported_and_fails_the_command(
    tmp_path: Path, objects: Any, expected: str
) -> None:
    result = simulate(tmp_path, *objects)
    assert result.exit_code == 1, result.output
    assert expected in result.output


def test_scripts_of_a_config_map_are_used(tmp_path: Path) -> None:
    lane = {
        "apiVersion": "example.dev/v1",
        "kind": "Lane",
        "metadata": {"name": "web", "namespace": "demo"},
        "spec": {"share": 0},
    }
    script = "obj.data.spec.share = obj.canaryWeight return obj.data"
    scripts = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kruise-rollout-configuration"},
        "data": {"lua.traffic.routing.Lane.example.dev": script},
    }
    reference = {"apiVersion": "example.dev/v1", "kind": "Lane", "name": "web"}
    plan = rollout(customNetworkRefs=[reference])
    listed = {"kind": "List", "items": [plan, workload(), SERVICE, lane, scripts]}
    found = report(simulate(tmp_path, listed, form="json"))
    assert "+  share: 20" in found["steps"][0]["routes"][0]["diff"]


@pytest.mark.parametrize("form", ["gateway", "ingress", "customNetworkRefs"])
def test_parameters_go_with_every_form_of_reference(tmp_path: Path, form: str) -> None:
    params = {"params": {"scale": 100}}
    routing: dict[str, Any] = {
        "gateway": {"httpRouteName": "web", **params},
        "ingress": {"name": "web", "classType": "alb", **params},
        "customNetworkRefs": [
            {"apiVersion": ROUTE["apiVersion"], "kind": "HTTPRoute", "name": "web", **params}
        ],
    }
    plan = rollout({"replicas": 1, "traffic": "5%"}, **{form: routing[form]})
    found = simulate(tmp_path, plan, workload(), SERVICE, ROUTE, INGRESS, form="json")
    if form == "ingress":
        assert found.exit_code == 1
        assert "more than 999, which no Ingress can express" in found.output
    else:
        assert found.exit_code == 0
        assert "9500" in found.output


def test_a_file_that_is_no_manifest_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("{")
    result = CliRunner().invoke(cli, ["simulate", "-f", str(tmp_path)])
    assert result.exit_code == 1
    assert "x.yaml cannot be read" in result.output


def test_nothing_to_simulate_is_a_usage_error() -> None:
    assert CliRunner().invoke(cli, ["simulate"]).exit_code == 2


def test_no_manifest_steers_the_terminal_that_shows_its_release(tmp_path: Path) -> None:
    service: Any = copy.deepcopy(SERVICE)
    service["spec"]["selector"]["app"] = "x\x1b[2J"
    for form in ("", "markdown"):
        reported = simulate(tmp_path, rollout(), workload(), service, ROUTE, form=form).output
        assert "app=x␛[2J" in reported
        assert "\x1b" not in reported


def test_a_gateway_that_cannot_match_is_left_out_of_the_step_with_a_warning(
    tmp_path: Path,
) -> None:
    by_path = {"replicas": 1, "matches": [{"path": {"value": "/new"}}]}
    routed = rollout(
        by_path,
        {"replicas": "100%"},
        gateway={"httpRouteName": "web"},
        ingress={"name": "web", "classType": "nginx"},
    )
    objects = (routed, workload(), SERVICE, ROUTE, INGRESS)
    found = report(simulate(tmp_path, *objects, form="json"))
    (warning,) = found["warnings"]
    assert "Ingress class nginx (Ingress/web) cannot match paths: it sends nothing" in warning
    assert [diff["kind"] for diff in found["steps"][0]["routes"]] == ["HTTPRoute"]
    assert found["restored"] is True


OWN_SCRIPT = EXAMPLE.parent / "own-script"


def test_a_script_of_the_namespace_is_found_among_the_manifests() -> None:
    result = CliRunner().invoke(cli, ["simulate", "-f", str(OWN_SCRIPT)])
    assert result.exit_code == 0, result.output
    assert "+    - name: shop-canary" in result.output
    assert "every gateway object is as it was" in result.output


def test_without_its_config_map_the_release_names_the_missing_object(tmp_path: Path) -> None:
    for file in ("app.yaml", "rollout.yaml"):
        (tmp_path / file).write_text((OWN_SCRIPT / file).read_text())
    result = CliRunner().invoke(cli, ["simulate", "-f", str(tmp_path)])
    assert result.exit_code == 1
    assert "ConfigMap shop/scripts, which scriptRef names, does not exist" in " ".join(
        result.output.split()
    )


def test_an_answer_that_is_no_object_of_its_kind_is_refused_before_any_pod(tmp_path: Path) -> None:
    script = (
        "for _, ref in ipairs(obj.data.spec.rules[1].backendRefs) do ref.weight = tostring(obj.canaryWeight) end "
        "return obj.data"
    )
    scripts = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kruise-rollout-configuration"},
        "data": {"lua.traffic.routing.HTTPRoute.gateway.networking.k8s.io": script},
    }
    reference = {
        "apiVersion": ROUTE["apiVersion"],
        "kind": "HTTPRoute",
        "name": "web",
        "script": "configMap",
    }
    plan = rollout(customNetworkRefs=[reference])
    result = simulate(tmp_path, plan, workload(), SERVICE, ROUTE, scripts)
    said = " ".join(result.output.split())
    assert result.exit_code == 1
    assert 'weight: Invalid value: must be of type integer, not "20"' in said
    assert "0 new (0 ready)" in said
