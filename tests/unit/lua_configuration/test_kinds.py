"""Scripts beyond their test data: parameters, parts of a percent, indirect names, siblings."""

from typing import Any

import pytest

from tests.component.luaworker.process import Worker
from tests.unit.lua_configuration.running import answered, flat, header, query, refused
from tests.unit.lua_configuration.test_refusals import CHANGES, GATEWAY, ORIGINALS, WEIGHTS

BETA = header("x-user-group", "beta")
SMALL = ("/Route", "/VirtualServer", "/VirtualServerRoute")


def weights_in(value: Any) -> list[list[float]]:
    """The weights of every list that has some."""
    found = []
    if isinstance(value, dict):
        if "to" in value and "weight" in value["to"]:
            found.append(
                [value["to"]["weight"], *(b["weight"] for b in value["alternateBackends"])]
            )
        for item in value.values():
            found += weights_in(item)
    elif isinstance(value, list):
        if weights := [
            item["weight"] for item in value if isinstance(item, dict) and "weight" in item
        ]:
            found.append(weights)
        for item in value:
            found += weights_in(item)
    return found


@pytest.mark.parametrize("kind", [kind for kind in WEIGHTS if not kind.endswith(SMALL)])
@pytest.mark.parametrize("weight", [0.5, 12.25, 33.3, 99.99])
async def test_parts_of_a_percent_are_divided_exactly(
    script_worker: Worker, kind: str, weight: float
) -> None:
    spec = await answered(script_worker, kind, ORIGINALS[kind], weight)
    (weights,) = weights_in(spec)
    assert weights[1] / sum(weights) == pytest.approx(weight / 100, abs=1e-6)


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("weight", [1, 7, 50, 99])
async def test_one_destination_is_divided_in_percent(
    script_worker: Worker, kind: str, weight: int
) -> None:
    spec = await answered(script_worker, kind, ORIGINALS[kind], weight)
    assert weights_in(spec) in ([[100 - weight, weight]], [[100 - weight, weight], [weight]])


@pytest.mark.parametrize("kind", WEIGHTS)
async def test_a_step_without_traffic_and_matches_changes_nothing(
    script_worker: Worker, kind: str
) -> None:
    spec = ORIGINALS[kind]
    assert await answered(script_worker, kind, spec) == flat(spec)
    assert await answered(script_worker, kind, spec, 0) == flat(spec)


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        pytest.param(20, [80, 20, 100], id="a-hundred-times"),
        pytest.param(0.26, [4987, 13, 5000], id="ten-thousand-in-all"),
        pytest.param(50, [50, 50, 100], id="half"),
        pytest.param(100, [0, 1, 1], id="as-they-are"),
    ],
)
async def test_small_weights_are_multiplied_where_they_have_to(
    script_worker: Worker, weight: float, expected: list[int]
) -> None:
    spec = "rules: [{backendRefs: [{name: web, port: 80}, {name: other, port: 80}]}]"
    found = await answered(script_worker, f"{GATEWAY}/HTTPRoute", spec, weight)
    assert weights_in(found) == [expected]


async def test_weights_stay_within_the_limit_of_their_kind(script_worker: Worker) -> None:
    spec = "{to: {kind: Service, name: web, weight: 3}, alternateBackends: [{kind: Service, name: o, weight: 1}]}"
    found = await answered(script_worker, "route.openshift.io/Route", spec, 20)
    assert weights_in(found)[0] == [60, 15, 25]


async def test_a_share_of_splits_is_never_nothing(script_worker: Worker) -> None:
    spec = """
upstreams: [{name: web, service: web, port: 80}, {name: o, service: o, port: 80}]
routes: [{path: /, splits: [{weight: 10, action: {pass: web}}, {weight: 90, action: {pass: o}}]}]
"""
    found = await answered(script_worker, "k8s.nginx.org/VirtualServer", spec, 1)
    assert weights_in(found) == [[9, 1, 90]]


@pytest.mark.parametrize("kind", [f"{GATEWAY}/HTTPRoute", "traefik.io/TraefikService"])
async def test_weights_may_be_scaled_by_a_parameter(script_worker: Worker, kind: str) -> None:
    found = await answered(script_worker, kind, ORIGINALS[kind], 20, params={"scale": 100})
    assert weights_in(found) == [[8000, 2000]]


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha2"])
async def test_every_version_of_an_httproute_is_served(script_worker: Worker, version: str) -> None:
    kind = f"{GATEWAY}/HTTPRoute"
    identity = {
        "apiVersion": f"{GATEWAY}/{version}",
        "kind": "HTTPRoute",
        "name": "r",
        "namespace": "demo",
    }
    found = await answered(script_worker, kind, ORIGINALS[kind], 20, object=identity)
    assert weights_in(found) == [[80, 20]]


async def test_the_contract_of_the_original_is_enough(script_worker: Worker) -> None:
    kind = f"{GATEWAY}/HTTPRoute"
    spec = "rules: [{backendRefs: [{name: web, namespace: any, port: 80}]}]"
    found = await answered(script_worker, kind, spec, 20, object=None, params=None)
    assert weights_in(found) == [[80, 20]]


RULES_BOTH = [
    f"{GATEWAY}/HTTPRoute",
    f"{GATEWAY}/GRPCRoute",
    "projectcontour.io/HTTPProxy",
    "apisix.apache.org/ApisixRoute",
    "traefik.io/IngressRoute",
    "k8s.nginx.org/VirtualServer",
    "kuma.io/MeshHTTPRoute",
    "zalando.org/RouteGroup",
    "gateway.solo.io/VirtualService",
]


@pytest.mark.parametrize("kind", RULES_BOTH)
async def test_matches_win_unless_both_are_asked_for(script_worker: Worker, kind: str) -> None:
    spec = ORIGINALS[kind]
    alone = await answered(script_worker, kind, spec, matches=[BETA])
    assert await answered(script_worker, kind, spec, 20, matches=[BETA]) == alone
    both = await answered(script_worker, kind, spec, 20, matches=[BETA], params={"both": True})
    assert [80, 20] in weights_in(both)
    assert "beta" in str(both)


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        pytest.param(
            "route.openshift.io/Route",
            "{to: {name: o}, alternateBackends: [{name: web, weight: 100}, {name: web-canary, weight: 0}]}",
            """
            to: {name: o, weight: 100}
            alternateBackends: [{name: web, weight: 80}, {name: web-canary, weight: 20}]
            """,
            id="openshift",
        ),
        pytest.param(
            "split.smi-spec.io/TrafficSplit",
            "{service: web, backends: [{service: web-canary, weight: 0}, {service: web, weight: 1000m}]}",
            "{service: web, backends: [{service: web-canary, weight: 200}, {service: web, weight: 800}]}",
            id="smi",
        ),
        pytest.param(
            "gloo.solo.io/UpstreamGroup",
            """
            destinations:
            - {weight: 3, destination: {kube: {ref: {name: web, namespace: demo}, port: 80}}}
            - {weight: 0, destination: {kube: {ref: {name: web-canary, namespace: demo}, port: 80}}}
            - {weight: 1, destination: {kube: {ref: {name: web, namespace: other}, port: 80}}}
            """,
            """
            destinations:
            - {weight: 240, destination: {kube: {ref: {name: web, namespace: demo}, port: 80}}}
            - {weight: 60, destination: {kube: {ref: {name: web-canary, namespace: demo}, port: 80}}}
            - {weight: 100, destination: {kube: {ref: {name: web, namespace: other}, port: 80}}}
            """,
            id="gloo",
        ),
        pytest.param(
            "consul.hashicorp.com/ServiceSplitter",
            "splits: [{weight: 60}, {weight: 0, service: web-canary}, {weight: 40, service: o}]",
            "splits: [{weight: 48}, {weight: 12, service: web-canary}, {weight: 40, service: o}]",
            id="consul",
        ),
        pytest.param(
            "zalando.org/RouteGroup",
            """
            backends:
            - {name: be, type: service, serviceName: web, servicePort: 80}
            - {name: next, type: service, serviceName: web-canary, servicePort: 80}
            - {name: o, type: service, serviceName: o, servicePort: 80}
            defaultBackends: [{backendName: be}, {backendName: o}]
            routes: [{pathSubtree: /, backends: [{backendName: be, weight: 1}, {backendName: next}]}]
            """,
            """
            backends:
            - {name: be, type: service, serviceName: web, servicePort: 80}
            - {name: next, type: service, serviceName: web-canary, servicePort: 80}
            - {name: o, type: service, serviceName: o, servicePort: 80}
            defaultBackends:
            - {backendName: be, weight: 80}
            - {backendName: next, weight: 20}
            - {backendName: o, weight: 100}
            routes: [{pathSubtree: /, backends: [{backendName: be, weight: 80}, {backendName: next, weight: 20}]}]
            """,
            id="skipper",
        ),
        pytest.param(
            "k8s.nginx.org/VirtualServer",
            """
            upstreams: [{name: up, service: web, port: 80, keepalive: 8}]
            routes: [{path: /, action: {proxy: {upstream: up, rewritePath: /}}}]
            """,
            """
            upstreams:
            - {name: up, service: web, port: 80, keepalive: 8}
            - {name: up-canary, service: web-canary, port: 80, keepalive: 8}
            routes:
            - path: /
              splits:
              - {weight: 80, action: {proxy: {upstream: up, rewritePath: /}}}
              - {weight: 20, action: {proxy: {upstream: up-canary, rewritePath: /}}}
            """,
            id="nginx",
        ),
        pytest.param(
            "kuma.io/MeshTCPRoute",
            "to: [{targetRef: {kind: MeshService, name: web_demo_svc_80}, rules: [{default: {}}]}]",
            """
            to:
            - targetRef: {kind: MeshService, name: web_demo_svc_80}
              rules:
              - default:
                  backendRefs:
                  - {kind: MeshService, name: web_demo_svc_80, weight: 80}
                  - {kind: MeshService, name: web-canary_demo_svc_80, weight: 20}
            """,
            id="kuma-by-tag",
        ),
        pytest.param(
            "gateway.solo.io/RouteTable",
            "routes: [{routeAction: {single: {upstream: {name: demo-web-80, namespace: gloo-system}}}}]",
            """
            routes:
            - routeAction:
                multi:
                  destinations:
                  - {weight: 80, destination: {upstream: {name: demo-web-80, namespace: gloo-system}}}
                  - {weight: 20, destination: {upstream: {name: demo-web-canary-80, namespace: gloo-system}}}
            """,
            id="gloo-upstream",
        ),
    ],
)
async def test_declared_and_indirect_destinations_are_found(
    script_worker: Worker, kind: str, spec: str, expected: str
) -> None:
    assert await answered(script_worker, kind, spec, 20) == flat(expected)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        (f"{GATEWAY}/TCPRoute", "rules: [{backendRefs: [{name: web, namespace: other, port: 80}]}]"),
        ("traefik.io/IngressRoute", "routes: [{match: a, services: [{name: web, namespace: other}]}]"),
        ("kuma.io/MeshTCPRoute", "to: [{targetRef: {kind: MeshService, name: web_other_svc_80}, rules: [{}]}]"),
        ("consul.hashicorp.com/ServiceSplitter", "splits: [{weight: 100, service: web, namespace: other}]"),
    ],
)  # fmt: skip
async def test_another_namespace_is_another_service(
    script_worker: Worker, kind: str, spec: str
) -> None:
    assert "points at Service web" in await refused(script_worker, kind, spec, 20)


async def test_a_full_share_is_kept_and_reduced_on_a_second_run(script_worker: Worker) -> None:
    spec = "rules: [{backendRefs: [{name: web, weight: 0}, {name: web-canary, weight: 100}]}]"
    for weight, expected in ((100, [0, 100]), (20, [80, 20])):
        found = await answered(script_worker, f"{GATEWAY}/HTTPRoute", spec, weight)
        assert weights_in(found) == [expected]


CONSUL = "consul.hashicorp.com"


def sibling(kind: str) -> list[dict[str, Any]]:
    """Another object of the release."""
    return [
        {
            "apiVersion": f"{CONSUL}/v1alpha1",
            "kind": kind,
            "name": "web",
            "namespace": "demo",
            "spec": {},
        }
    ]


async def test_a_splitter_leaves_matches_to_its_router(script_worker: Worker) -> None:
    kind = f"{CONSUL}/ServiceSplitter"
    more: dict[str, Any] = {"matches": [BETA], "siblings": sibling("ServiceRouter")}
    assert await answered(script_worker, kind, ORIGINALS[kind], **more) == flat(ORIGINALS[kind])


async def test_a_router_leaves_weights_to_its_splitter(script_worker: Worker) -> None:
    kind = f"{CONSUL}/ServiceRouter"
    more: dict[str, Any] = {"siblings": sibling("ServiceSplitter")}
    assert await answered(script_worker, kind, ORIGINALS[kind], 20, **more) == flat(ORIGINALS[kind])


@pytest.mark.parametrize(("params", "subset"), [({}, "canary"), ({"subset": "v2"}, "v2")])
async def test_consul_distinguishes_revisions_of_one_service_by_a_subset(
    script_worker: Worker, params: dict[str, str], subset: str
) -> None:
    splits = await answered(
        script_worker, f"{CONSUL}/ServiceSplitter", ORIGINALS[f"{CONSUL}/ServiceSplitter"], 20,
        canaryService="web", params=params,
    )  # fmt: skip
    assert splits["splits"][1] == {"service": "web", "serviceSubset": subset, "weight": 20}
    router = await answered(
        script_worker, f"{CONSUL}/ServiceRouter", "{}",
        canaryService="web", params=params, matches=[BETA],
    )  # fmt: skip
    assert [route["destination"] for route in router["routes"]] == [{"serviceSubset": subset}]


@pytest.mark.parametrize(
    ("match", "condition"),
    [
        (header("canary-by-cookie", "my-group"), {"header": "cookie", "value": r"~(^|.*;\s*)my-group=always(;.*|$)"}),
        (query("my-v", "a.b"), {"variable": "$args", "value": r"~(^|&)my-v=a\.b(&|$)"}),
        (query("my-v", "[0-9]+", "RegularExpression"), {"variable": "$args", "value": "~(^|&)my-v=(?:[0-9]+)(&|$)"}),
        (header("x-a", "!12"), {"header": "x-a", "value": "~^!12$"}),
        (header("x-a", "12"), {"header": "x-a", "value": "12"}),
    ],
)  # fmt: skip
async def test_conditions_of_nginx(
    script_worker: Worker, match: dict[str, Any], condition: dict[str, str]
) -> None:
    kind = "k8s.nginx.org/VirtualServer"
    found = await answered(script_worker, kind, ORIGINALS[kind], matches=[match])
    assert found["routes"][0]["matches"][0]["conditions"] == [condition]


async def test_a_pattern_for_a_cookie(script_worker: Worker) -> None:
    kind = f"{GATEWAY}/HTTPRoute"
    matches = [header("canary-by-cookie", "group=a|b", "RegularExpression")]
    found = await answered(script_worker, kind, ORIGINALS[kind], matches=matches)
    assert found["rules"][0]["matches"] == [
        {"headers": [{"type": "RegularExpression", "name": "cookie", "value": r"(^|.*;\s*)group=(a|b)(;.*|$)"}]}
    ]  # fmt: skip


async def test_a_plugin_that_sets_headers_without_saying_so(script_worker: Worker) -> None:
    spec = """
http:
- name: r
  match: {paths: [/]}
  plugins: [{name: proxy-rewrite, enable: true, config: {headers: {x-a: b}}}]
  backends: [{serviceName: web, servicePort: 80}]
"""
    found = await answered(
        script_worker, "apisix.apache.org/ApisixRoute", spec,
        matches=[BETA], requestHeaderModifier=CHANGES,
    )  # fmt: skip
    assert found["http"][0] == flat(spec)["http"][0]
    assert found["http"][1]["plugins"][0]["config"] == {
        "headers": {"set": {"x-a": "b", "x-env": "canary"}}
    }
