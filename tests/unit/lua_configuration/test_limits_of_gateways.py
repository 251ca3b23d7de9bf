"""Limits of gateways that no API server checks: an object that breaks one would be taken out of service."""

import json
from typing import Any

import msgspec
import pytest
import yaml

from controller.api.rollout import IngressRef, Step, TrafficRoutingRef
from controller.domain.traffic.plan.traffic_plan import references_of, route_plan
from controller.domain.traffic.validation.ingress import class_input
from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import Worker
from tests.unit.lua_configuration.cases import FOLDER, packaged
from tests.unit.lua_configuration.running import answered, header, path, refused

BETA = header("x-user-group", "beta")
CONTOUR, NGINX = "projectcontour.io/HTTPProxy", "k8s.nginx.org/VirtualServer"
ISTIO, TRAEFIK = "networking.istio.io/VirtualService", "traefik.io/IngressRoute"
UPSTREAMS = (
    "{upstreams: [{name: web, service: web, port: 80}], routes: [{path: /, action: {pass: web}}]}"
)
WEB = {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web"}}}
API = {"path": "/api", "pathType": "Prefix", "backend": {"service": {"name": "api"}}}


def conditions_of(spec: Any) -> Any:
    """The conditions of the first route."""
    return spec["routes"][0]["conditions"]


async def test_an_exact_path_stays_the_last_condition_of_a_contour_route(
    script_worker: Worker,
) -> None:
    """Contour 1.33 takes an exact path for a prefix if a header stands behind it."""
    spec = "routes: [{conditions: [{exact: /a}], services: [{name: web, port: 80}]}]"
    beta = {"header": {"name": "x-user-group", "exact": "beta"}}
    copied = await answered(script_worker, CONTOUR, spec, matches=[BETA])
    assert conditions_of(copied) == [beta, {"exact": "/a"}]
    spec = "routes: [{conditions: [{prefix: /b}], services: [{name: web, port: 80}]}]"
    asked = await answered(script_worker, CONTOUR, spec, matches=[{**BETA, **path("/b", "Exact")}])
    assert conditions_of(asked) == [beta, {"exact": "/b"}]


async def test_a_guard_of_a_contour_route_keeps_its_exact_path_exact(script_worker: Worker) -> None:
    spec = """
    routes:
    - {conditions: [{exact: /a}], services: [{name: web, port: 80}]}
    - {conditions: [{header: {name: x-tenant, exact: a}}, {exact: /a}], services: [{name: b, port: 80}]}
    """
    matches = [{"headers": [*BETA["headers"], {"name": "x-b", "value": "1"}]}]
    found = await answered(script_worker, CONTOUR, spec, matches=matches)
    assert [list(route["conditions"][-1]) for route in found["routes"]] == [["exact"]] * 4


async def test_a_traefik_copy_leaves_requests_to_a_rule_of_its_own_priority(
    script_worker: Worker,
) -> None:
    """Traefik asks routes of one priority in no fixed order."""
    spec = """
    routes:
    - {match: PathPrefix(`/a`), services: [{name: web, port: 80}]}
    - {match: PathPrefix(`/ab`), services: [{name: other, port: 80}]}
    """
    found = await answered(script_worker, TRAEFIK, spec, matches=[BETA])
    assert found["routes"][0]["match"] == (
        "PathPrefix(`/a`) && Header(`x-user-group`, `beta`) && !(PathPrefix(`/ab`))"
    )
    other = spec.replace("`/ab`),", "`/ab`), syntax: v2,")
    text = await refused(script_worker, TRAEFIK, other, matches=[BETA])
    assert text == (
        "a route for others has the priority of a copy, and another syntax: PathPrefix(`/ab`)"
    )


async def test_two_conditions_on_one_header_are_not_reduced_to_one_by_istio(
    script_worker: Worker,
) -> None:
    names = ("user=1", "region=eu")
    both = {"headers": [{"name": "canary-by-cookie", "value": name} for name in names]}
    spec = "http: [{route: [{destination: {host: web}}]}]"
    text = await refused(script_worker, ISTIO, spec, matches=[both])
    assert text == "no VirtualService can match header cookie in two ways at once"
    same = {"headers": [{"name": "X-A", "value": "1"}, {"name": "x-a", "value": "1"}]}
    found = await answered(script_worker, ISTIO, spec, matches=[same])
    assert found["http"][0]["match"] == [{"headers": {"x-a": {"exact": "1"}}}]


@pytest.mark.parametrize("weight", [0.001, 99.999])
async def test_a_share_too_small_for_istio_is_refused(script_worker: Worker, weight: float) -> None:
    spec = "http: [{route: [{destination: {host: web}}]}]"
    text = await refused(script_worker, ISTIO, spec, weight)
    assert text == f"no VirtualService can express {weight} % here: its weights are too small"


async def test_a_destination_rule_of_another_host_is_refused(script_worker: Worker) -> None:
    kind = "networking.istio.io/DestinationRule"
    text = await refused(script_worker, kind, "{host: shop}", 20, canaryService="web")
    assert text == "this DestinationRule is for host shop, not for Service web"
    for host in ("web", "web.demo.svc.cluster.local", '"*.demo.svc.cluster.local"'):
        found = await answered(script_worker, kind, f"{{host: {host}}}", 20, canaryService="web")
        assert [subset["name"] for subset in found["subsets"]] == ["canary"]


async def test_a_name_that_nginx_does_not_accept_is_refused(script_worker: Worker) -> None:
    long = UPSTREAMS.replace("name: web", f"name: {'u' * 57}").replace("pass: web", "pass: u")
    text = await refused(script_worker, NGINX, long.replace("pass: u", f"pass: {'u' * 57}"), 20)
    assert text.endswith("-canary: a name has at most 63 letters")
    text = await refused(script_worker, NGINX, UPSTREAMS, matches=[header("x_user", "1")])
    assert text == "a header of a VirtualServer has a name of letters, digits and dashes: x_user"


async def test_texts_with_signs_of_nginx_are_escaped_or_refused(script_worker: Worker) -> None:
    def setting(value: str) -> dict[str, Any]:
        return {"requestHeaderModifier": {"set": [{"name": "x-env", "value": value}]}}

    found = await answered(script_worker, NGINX, UPSTREAMS, 20, **setting('a"\\'))
    action = found["routes"][0]["splits"][1]["action"]["proxy"]
    assert action["requestHeaders"]["set"] == [{"name": "x-env", "value": 'a\\"\\\\'}]
    text = await refused(script_worker, NGINX, UPSTREAMS, 20, **setting("$host"))
    assert text == "in a header of a VirtualServer $ begins a variable: $host"
    quoted = await answered(script_worker, NGINX, UPSTREAMS, matches=[header("x-a", '1"')])
    assert quoted["routes"][0]["matches"][0]["conditions"][0]["value"] == '~^1\\"$'


async def test_an_upstream_whose_name_gloo_would_shorten_is_refused(script_worker: Worker) -> None:
    service = "w" * 50
    spec = f"destinations: [{{destination: {{upstream: {{name: demo-{service}-80}}}}, weight: 1}}]"
    services = {"stableService": service, "canaryService": f"{service}-canary"}
    text = await refused(script_worker, "gloo.solo.io/UpstreamGroup", spec, 20, **services)
    assert text.startswith("Gloo shortens the name of the upstream demo-www")


async def test_a_step_of_nothing_takes_a_declared_share_of_consul_back(
    script_worker: Worker,
) -> None:
    spec = "splits: [{weight: 90, service: web}, {weight: 10, service: web-canary}]"
    found = await answered(script_worker, "consul.hashicorp.com/ServiceSplitter", spec, 0)
    assert [entry["weight"] for entry in found["splits"]] == [100, 0]


def ingress_obj(class_type: str, content: dict[str, Any], step: Step) -> str:
    """The input of the script of a class."""
    entry = TrafficRoutingRef(service="web", ingress=IngressRef(name="web", class_type=class_type))
    references = references_of((entry,), disable_generate=False)
    plan = route_plan(
        namespace="demo", rollout="web", release="r", references=references, step=step
    )
    obj = class_input(references[0], plan, content)
    assert isinstance(obj, bytes)
    return obj.decode()


async def of_class(
    worker: Worker, class_type: str, content: dict[str, Any], step: Step
) -> pb.ExecuteResponse:
    """One call of the script of a class."""
    script = packaged(FOLDER / f"trafficrouting_ingress/{class_type}.lua")
    return await worker.run(script, ingress_obj(class_type, content, step), name=class_type)


def ingress(*paths: dict[str, Any], **annotations: str) -> dict[str, Any]:
    """The content of an Ingress; annotations by the key of their class."""
    return {
        "spec": {"rules": [{"host": "a", "http": {"paths": [*paths]}}]},
        "annotations": annotations,
    }


def step_of(text: str) -> Step:
    """A step, from YAML."""
    return msgspec.convert(yaml.safe_load(text), Step)


@pytest.mark.parametrize(
    ("given", "shares"),
    [
        ({"web": 1, "other": 1}, {"web": 0.9, "web-canary": 0.1, "other": 1}),
        ({"web": 0.5, "other": 0.5}, {"web": 0.45, "web-canary": 0.05, "other": 0.5}),
    ],
    ids=["of-one", "of-a-half"],
)
async def test_small_shares_of_skipper_are_divided_in_fractions(
    script_worker: Worker, given: dict[str, float], shares: dict[str, float]
) -> None:
    key = "zalando.org/backend-weights"
    content = ingress(WEB, **{key: json.dumps(given)})
    answer = await of_class(script_worker, "skipper", content, Step(traffic="10%"))
    assert json.loads(json.loads(answer.result_json)["annotations"][key]) == shares


async def test_a_default_backend_of_skipper_is_refused_because_it_has_no_shares(
    script_worker: Worker,
) -> None:
    content = ingress(WEB)
    content["spec"]["defaultBackend"] = WEB["backend"]
    answer = await of_class(script_worker, "skipper", content, Step(traffic="10%"))
    assert "the default backend of an Ingress of Skipper has no shares" in answer.message


async def test_an_owners_methods_of_kong_are_not_widened(script_worker: Worker) -> None:
    content = ingress(WEB, **{"konghq.com/methods": "GET, HEAD"})
    post = await of_class(script_worker, "kong", content, step_of("matches: [{method: POST}]"))
    assert "the Ingress already matches methods GET, HEAD" in post.message
    head = await of_class(script_worker, "kong", content, step_of("matches: [{method: HEAD}]"))
    (made,) = json.loads(head.result_json)["objects"]
    assert made["metadata"]["annotations"]["konghq.com/methods"] == "HEAD"


MATCH = "matches: [{headers: [{name: x-a, value: b}]}]"
MATCH_PATH = "matches: [{path: {value: /b}, headers: [{name: x-a, value: b}]}]"


async def test_kong_gets_no_conditions_for_a_default_backend(script_worker: Worker) -> None:
    """Of all default backends of a cluster, Kong uses the one of the oldest Ingress."""
    content: dict[str, Any] = ingress(API)
    content["spec"]["defaultBackend"] = WEB["backend"]
    alone = await of_class(script_worker, "kong", content, step_of(MATCH))
    assert "no Ingress of Kong can match for a default backend: give Service web a path" in (
        alone.message
    )
    content["spec"]["rules"][0]["http"]["paths"].append(WEB)
    beside = await of_class(script_worker, "kong", content, step_of(MATCH))
    (made,) = json.loads(beside.result_json)["objects"]
    assert "defaultBackend" not in made["spec"]


@pytest.mark.parametrize("class_type", ["kong", "haproxy", "higress"])
async def test_a_path_takes_the_place_of_no_default_backend(
    script_worker: Worker, class_type: str
) -> None:
    content = {"spec": {"defaultBackend": WEB["backend"]}}
    answer = await of_class(script_worker, class_type, content, step_of(MATCH_PATH))
    assert "a path cannot take the place of a default backend" in answer.message


ACTION = {
    "type": "forward",
    "forwardConfig": {"targetGroups": [{"serviceName": "web", "servicePort": 80}]},
}
BY_ACTION = {
    "path": "/", "pathType": "Prefix",
    "backend": {"service": {"name": "fw", "port": {"name": "use-annotation"}}},
}  # fmt: skip
BY_BRIDGE = {
    "path": "/",
    "pathType": "Prefix",
    "backend": {"resource": {"kind": "McpBridge", "name": "default"}},
}
INDIRECT = [
    ("alb", ingress(BY_ACTION, **{"alb.ingress.kubernetes.io/actions.fw": json.dumps(ACTION)})),
    ("higress", ingress(BY_BRIDGE, **{"higress.io/destination": "web.demo.svc.cluster.local:80"})),
]


@pytest.mark.parametrize(("class_type", "content"), INDIRECT, ids=["alb", "higress"])
async def test_an_ingress_that_leads_to_the_service_by_an_annotation_alone_is_divided(
    script_worker: Worker, class_type: str, content: dict[str, Any]
) -> None:
    answer = await of_class(script_worker, class_type, content, Step(traffic="10%"))
    assert answer.message == ""
    assert "web-canary" in answer.result_json.decode()


async def test_a_copy_of_paths_that_lead_elsewhere_is_refused(script_worker: Worker) -> None:
    answer = await of_class(script_worker, *INDIRECT[1], step_of(MATCH))
    assert "no path of this Ingress leads to Service web: give it one" in answer.message
