"""Reports about gateways: what a step writes, judged by the routing rules of each gateway."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.api.rollout import HttpRouteMatch, ValueMatch
from tests.component.cli_simulation.test_simulate import (
    INGRESS,
    SERVICE,
    rollout,
    simulate,
    workload,
)
from tests.component.luaworker.process import Worker
from tests.reports.played import played
from tests.reports.test_ends import broken
from tests.routing import contour, gateway_api, istio, nginx, traefik
from tests.routing.model import Request, Tree
from tests.routing.test_ingress import asked
from tests.unit.builders import (
    BLUE_GREEN,
    KEY,
    make_rollout,
    make_step,
    make_world,
    release,
    sizes_of,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.scenes import approve
from tests.unit.lua_configuration.running import answered, header, refused

BETA = HttpRouteMatch(headers=(ValueMatch(name="x-group", value="beta"),))
HTTP_ROUTE = "gateway.networking.k8s.io/HTTPRoute"
VIRTUAL_SERVICE = "networking.istio.io/VirtualService"
HTTP_PROXY = "projectcontour.io/HTTPProxy"
BETA_STEP = [header("x-group", "beta")]
BETA_HEADERS = {"x-group": "beta"}
NEW, OLD = {"web-canary": Fraction(1)}, {"web": Fraction(1)}
FIFTH = {"web": Fraction(4, 5), "web-canary": Fraction(1, 5)}
PREFIX = "nginx.ingress.kubernetes.io/"


# --- Gateway API ----------------------------------------------------------------------------------

REWRITTEN = """
rules:
- matches: [{path: {type: PathPrefix, value: /smart}}]
  filters:
  - {type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}
  - {type: RequestHeaderModifier, requestHeaderModifier: {add: [{name: x-from, value: gw}]}}
  backendRefs: [{name: web, port: 80}]
- matches: [{path: {type: PathPrefix, value: /other}}]
  backendRefs: [{name: admin, port: 80}]
"""


@played("argoproj-labs/rollouts-plugin-trafficrouter-gatewayapi#87")
async def test_a_header_step_keeps_the_filters_of_the_owners_rule(script_worker: Worker) -> None:
    spec = await answered(script_worker, HTTP_ROUTE, REWRITTEN, matches=BETA_STEP)
    request = Request("/smart/a/b", headers=BETA_HEADERS)
    before = gateway_api.served(yaml.safe_load(REWRITTEN), request)
    after = gateway_api.served(spec, request)
    assert before is not None
    assert after is not None
    assert (after.shares, after.path) == (NEW, "/a/b")
    assert after.filters == before.filters


@played("argoproj-labs/rollouts-plugin-trafficrouter-gatewayapi#217")
@pytest.mark.parametrize("step", [{"weight": 20}, {"matches": BETA_STEP}])
async def test_rules_of_other_services_stay_as_they_are(
    script_worker: Worker, step: dict[str, Any]
) -> None:
    spec = await answered(script_worker, HTTP_ROUTE, REWRITTEN, **step)
    own = yaml.safe_load(REWRITTEN)["rules"][1]
    assert own in spec["rules"]
    assert gateway_api.http_route(spec, Request("/other/x", headers=BETA_HEADERS)) == {
        "admin": Fraction(1)
    }


@played("argoproj-labs/rollouts-plugin-trafficrouter-gatewayapi#158")
async def test_requests_with_the_steps_header_all_go_to_the_new_version(
    script_worker: Worker,
) -> None:
    spec = await answered(script_worker, HTTP_ROUTE, REWRITTEN, matches=BETA_STEP)
    assert gateway_api.http_route(spec, Request("/smart", headers=BETA_HEADERS)) == NEW
    assert gateway_api.http_route(spec, Request("/smart")) == OLD


@played("argoproj-labs/rollouts-plugin-trafficrouter-gatewayapi#151", "argoproj/argo-rollouts#2769")
@pytest.mark.parametrize("style", ["partition", "canary", BLUE_GREEN])
def test_many_releases_with_header_steps_leave_no_route_behind(style: str) -> None:
    steps = (make_step("20%", matches=(BETA,)), make_step("50%", "50%"))
    world = make_world(make_rollout(style=style, steps=steps))
    for version in ("v2", "v3", "v4"):
        release(world, version)
        wait(world, 4)
    world.rest()
    plan = world.routes[0].plan
    assert plan is not None
    assert len(plan.matches) == 1
    for _ in range(2):
        approve(world)
    assert world.routes[0].plan is None
    assert sizes_of(world) == {"v4": 10}


@played("argoproj/argo-rollouts#4716")
def test_a_header_step_outlives_pods_that_are_restarted() -> None:
    steps = (make_step("20%", matches=(BETA,)), make_step("50%", "50%"))
    world = make_world(make_rollout(style="canary", steps=steps))
    release(world)
    world.rest()
    before = world.routes[0].plan
    for pod in tuple(world.cluster.pods):
        world.people.delete_pod(pod.metadata.key)
        wait(world, 2)
    world.restart()
    world.rest()
    assert world.routes[0].plan == before
    assert before is not None
    assert len(before.matches) == 1
    assert weight_of(world) is None
    assert world.cluster.rollouts[KEY].status.current_step_index == 1


# --- Istio ----------------------------------------------------------------------------------------

RETRIED = """
hosts: [web]
http:
- name: primary
  retries: {attempts: 3, retryOn: 5xx}
  timeout: 5s
  route: [{destination: {host: web}}]
"""
WITHOUT = """
hosts: [web]
http:
- match: [{withoutHeaders: {x-group: {exact: beta}}}]
  name: without
  route: [{destination: {host: web}}]
- route: [{destination: {host: admin}}]
"""
DELEGATED = """
hosts: [web.example.com]
http:
- match: [{uri: {prefix: /inner}}]
  delegate: {name: inner}
- route: [{destination: {host: web}}]
"""


@played("argoproj/argo-rollouts#2266")
@pytest.mark.parametrize("step", [{"weight": 20}, {"matches": BETA_STEP}])
async def test_retries_and_timeouts_of_a_virtual_service_stay(
    script_worker: Worker, step: dict[str, Any]
) -> None:
    spec = await answered(script_worker, VIRTUAL_SERVICE, RETRIED, **step)
    own = yaml.safe_load(RETRIED)["http"][0]
    for rule in spec["http"]:
        assert (rule["retries"], rule["timeout"]) == (own["retries"], own["timeout"])


@played("argoproj/argo-rollouts#2767")
async def test_a_rule_for_requests_without_a_header_keeps_that_condition(
    script_worker: Worker,
) -> None:
    own = yaml.safe_load(WITHOUT)["http"]
    weighted = await answered(script_worker, VIRTUAL_SERVICE, WITHOUT, 20)
    assert [rule.get("match") for rule in weighted["http"]] == [rule.get("match") for rule in own]
    other = [header("x-user", "tester")]
    matched = await answered(script_worker, VIRTUAL_SERVICE, WITHOUT, matches=other)
    assert [rule for rule in matched["http"] if rule in own] == own
    condition = {"x-group": {"exact": "beta"}}
    copies = [rule for rule in matched["http"] if rule not in own]
    assert [rule["match"][0]["withoutHeaders"] for rule in copies] == [condition]


@played("argoproj/argo-rollouts#2767")
async def test_a_step_for_the_header_that_every_rule_excludes_is_refused(
    script_worker: Worker,
) -> None:
    told = await refused(script_worker, VIRTUAL_SERVICE, WITHOUT, matches=BETA_STEP)
    assert "contradict the conditions of every rule that points at Service web" in told


@played("argoproj/argo-rollouts#2526")
@pytest.mark.parametrize("step", [{"weight": 20}, {"matches": BETA_STEP}])
async def test_a_rule_that_delegates_stays_whole_beside_the_steps_rules(
    script_worker: Worker, step: dict[str, Any]
) -> None:
    spec = await answered(script_worker, VIRTUAL_SERVICE, DELEGATED, **step)
    assert yaml.safe_load(DELEGATED)["http"][0] in spec["http"]
    goals = ("route", "delegate", "redirect", "directResponse")
    assert all(sum(goal in rule for goal in goals) == 1 for rule in spec["http"])
    request = Request("/", headers=BETA_HEADERS)
    assert istio.virtual_service(spec, request) == (FIFTH if "weight" in step else NEW)


# --- Contour and Traefik --------------------------------------------------------------------------

SOCKETS = """
routes:
- conditions: [{prefix: /foo}]
  enableWebsockets: true
  responseHeadersPolicy: {set: [{name: x-own, value: a}]}
  services: [{name: web, port: 80}]
- conditions: [{prefix: /bar}]
  services: [{name: web, port: 80}]
"""
IN_WEIGHTS = """
weighted:
  services: [{name: web, port: 80}]
"""


@played("fluxcd/flagger#968")
@pytest.mark.parametrize("step", [{"weight": 20}, {"matches": BETA_STEP}])
async def test_fields_of_a_proxys_route_stay_at_every_step(
    script_worker: Worker, step: dict[str, Any]
) -> None:
    spec = await answered(script_worker, HTTP_PROXY, SOCKETS, **step)
    own = yaml.safe_load(SOCKETS)["routes"][0]
    found = [r for r in spec["routes"] if {"prefix": "/foo"} in r["conditions"]]
    assert found
    for route in found:
        assert route["enableWebsockets"] is True
        assert route["responseHeadersPolicy"] == own["responseHeadersPolicy"]


@played("argoproj-labs/rollouts-plugin-trafficrouter-contour#75")
async def test_every_route_of_the_service_gets_the_share(script_worker: Worker) -> None:
    spec = await answered(script_worker, HTTP_PROXY, SOCKETS, 20)
    for path in ("/foo/x", "/bar"):
        answer = contour.served(spec, Request(path))
        assert answer is not None
        assert answer.shares == FIFTH


@played("fluxcd/flagger#736")
async def test_a_share_of_nothing_names_no_service_that_could_be_empty(
    script_worker: Worker,
) -> None:
    """Traefik ignores a TraefikService in which one of the Services has no endpoint."""
    spec = await answered(script_worker, "traefik.io/TraefikService", IN_WEIGHTS, 20)
    assert traefik.weighted_service(spec, Request()) == FIFTH
    world = make_world(make_rollout(steps=(make_step("20%", "20%"),)))
    broken(world)
    release(world)
    wait(world, 60)
    assert world.routes[0].plan is None


TWO_OTHERS = """
routes:
- conditions: [{prefix: /user}]
  services:
  - {name: web, port: 80, weight: 60}
  - {name: legacy, port: 80, weight: 40}
"""


@played("argoproj-labs/rollouts-plugin-trafficrouter-contour#52")
@pytest.mark.parametrize("weight", [0, 20, 100])
async def test_another_service_of_the_route_keeps_its_part(
    script_worker: Worker, weight: int
) -> None:
    spec = await answered(script_worker, HTTP_PROXY, TWO_OTHERS, weight)
    shares = contour.http_proxy(spec, Request("/user"))
    assert shares["legacy"] == Fraction(2, 5)
    assert shares.get("web-canary", Fraction(0)) == Fraction(3, 5) * weight / 100


SPLIT = "split.smi-spec.io/TrafficSplit"


@played("fluxcd/flagger#930")
async def test_a_backend_without_a_share_says_so(script_worker: Worker) -> None:
    owned = "{service: web, backends: [{service: web, weight: 100}]}"
    spec = await answered(script_worker, SPLIT, owned, 100)
    weights = {entry["service"]: entry["weight"] for entry in spec["backends"]}
    assert weights == {"web": 0, "web-canary": 100}


# --- ingress-nginx ---------------------------------------------------------------------------------


def ingress(annotations: dict[str, str], *rules: tuple[str, str, str]) -> Tree:
    """An Ingress of (host, path, Service)."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "web", "namespace": "demo", "annotations": annotations},
        "spec": {
            "ingressClassName": "nginx",
            "rules": [
                {
                    "host": host,
                    "http": {
                        "paths": [
                            {
                                "path": path,
                                "pathType": "Prefix",
                                "backend": {"service": {"name": name, "port": {"number": 80}}},
                            }
                        ]
                    },
                }
                for host, path, name in rules
            ],
        },
    }


async def made_of(worker: Worker, original: Tree, weight: int) -> list[Tree]:
    """The owner's Ingress and the canary Ingress of a step."""
    made = await asked(worker, "nginx", original, weight)
    assert not isinstance(made, str), made
    return made


@played("kubernetes/ingress-nginx#3475")
async def test_the_canary_ingress_rewrites_as_the_owners_does(script_worker: Worker) -> None:
    own = {f"{PREFIX}rewrite-target": "/ingest", f"{PREFIX}use-regex": "true"}
    _, canary = await made_of(script_worker, ingress(own, ("a.example", "/input", "web")), 100)
    assert own.items() <= canary["metadata"]["annotations"].items()
    assert canary["metadata"]["annotations"][f"{PREFIX}canary-weight"] == "100"


@played("kubernetes/ingress-nginx#9830", "kubernetes/ingress-nginx#3616")
async def test_the_canary_ingress_has_each_host_and_path_of_the_service_and_no_other(
    script_worker: Worker,
) -> None:
    hosts = ("a.example", "b.example")
    original = ingress(
        {},
        (hosts[0], "/app", "web"),
        (hosts[0], "/app/static", "web"),
        (hosts[0], "/admin", "admin"),
        (hosts[1], "/", "web"),
        (hosts[1], "/old", "legacy"),
    )
    made = await made_of(script_worker, original, 20)
    expected: dict[tuple[str, str], dict[str, Fraction]] = {
        (hosts[0], "/app/x"): FIFTH,
        (hosts[0], "/app/static/x"): FIFTH,
        (hosts[0], "/admin"): {"admin": Fraction(1)},
        (hosts[0], "/elsewhere"): {},
        (hosts[1], "/app"): FIFTH,
        (hosts[1], "/old"): {"legacy": Fraction(1)},
    }
    found = {
        (host, path): nginx.ingresses(made, Request(path, host=host)) for host, path in expected
    }
    assert found == expected


@played("kubernetes/ingress-nginx#9745")
async def test_the_share_is_in_hundredths_whatever_total_the_owners_ingress_names(
    script_worker: Worker,
) -> None:
    own = {f"{PREFIX}canary-weight-total": "1000"}
    made = await made_of(script_worker, ingress(own, ("a.example", "/", "web")), 20)
    assert nginx.ingresses(made, Request("/", host="a.example")) == FIFTH


@played("fluxcd/flagger#787")
def test_no_canary_ingress_is_left_that_could_contest_the_owners(tmp_path: Path) -> None:
    """The controller of ingress-nginx refuses an Ingress whose host and path another one has already."""
    plan = rollout(ingress={"name": "web"})
    result = simulate(tmp_path, plan, workload(), SERVICE, INGRESS, form="json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert [change["what"] for change in found["steps"][0]["routes"]] == ["made"]
    assert found["restored"] is True
