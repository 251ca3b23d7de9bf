"""A request that a kind cannot express is refused with words that name it. It is never left out."""

from typing import Any

import pytest

from tests.component.luaworker.process import Worker
from tests.unit.lua_configuration.running import header, path, query, refused

GATEWAY = "gateway.networking.k8s.io"
BACKEND = "rules: [{backendRefs: [{name: web, port: 80}]}]"
CONTOUR = "routes: [{services: [{name: web, port: 80}]}]"
APISIX = "http: [{name: r, match: {paths: [/]}, backends: [{serviceName: web, servicePort: 80}]}]"
TRAEFIK = "routes: [{match: Host(`a`), services: [{name: web, port: 80}]}]"
NGINX = """
upstreams: [{name: web, service: web, port: 80}]
routes: [{path: /, action: {pass: web}}]
"""
SUBROUTES = NGINX.replace("routes", "subroutes")
KUMA = """
to:
- targetRef: {kind: MeshService, name: web}
  rules: [{matches: [{path: {type: PathPrefix, value: /}}], default: {}}]
"""
SKIPPER = """
backends: [{name: web, type: service, serviceName: web, servicePort: 80}]
defaultBackends: [{backendName: web}]
"""
ROUTER = "routes: [{match: {http: {pathPrefix: /}}, destination: {service: web}}]"
KUBE = "{kube: {ref: {name: web, namespace: demo}, port: 80}}"
GLOO = f"virtualHost: {{routes: [{{matchers: [{{prefix: /}}], routeAction: {{single: {KUBE}}}}}]}}"
TABLE = f"routes: [{{matchers: [{{prefix: /}}], routeAction: {{single: {KUBE}}}}}]"
GROUP = f"destinations: [{{weight: 1, destination: {KUBE}}}]"
WEIGHTED = "weighted: {services: [{name: web, port: 80}]}"
SPLITS = "splits: [{weight: 100, service: web}]"
SMI = "{service: web, backends: [{service: web, weight: 1}]}"
ROUTE = "to: {kind: Service, name: web}"

ORIGINALS = {
    f"{GATEWAY}/HTTPRoute": BACKEND,
    f"{GATEWAY}/GRPCRoute": BACKEND,
    f"{GATEWAY}/TCPRoute": BACKEND,
    f"{GATEWAY}/TLSRoute": BACKEND,
    f"{GATEWAY}/UDPRoute": BACKEND,
    "policy.linkerd.io/HTTPRoute": BACKEND,
    "projectcontour.io/HTTPProxy": CONTOUR,
    "apisix.apache.org/ApisixRoute": APISIX,
    "traefik.io/IngressRoute": TRAEFIK,
    "traefik.io/IngressRouteTCP": TRAEFIK,
    "traefik.io/IngressRouteUDP": TRAEFIK,
    "traefik.io/TraefikService": WEIGHTED,
    "k8s.nginx.org/VirtualServer": NGINX,
    "k8s.nginx.org/VirtualServerRoute": SUBROUTES,
    "route.openshift.io/Route": ROUTE,
    "kuma.io/MeshHTTPRoute": KUMA,
    "kuma.io/MeshTCPRoute": KUMA,
    "zalando.org/RouteGroup": SKIPPER,
    "consul.hashicorp.com/ServiceSplitter": SPLITS,
    "consul.hashicorp.com/ServiceRouter": ROUTER,
    "gateway.solo.io/VirtualService": GLOO,
    "gateway.solo.io/RouteTable": TABLE,
    "gloo.solo.io/UpstreamGroup": GROUP,
    "split.smi-spec.io/TrafficSplit": SMI,
}
"""The smallest object of each kind that leads to the stable Service."""

LAYER4 = [
    f"{GATEWAY}/TCPRoute",
    f"{GATEWAY}/TLSRoute",
    f"{GATEWAY}/UDPRoute",
    "traefik.io/IngressRouteTCP",
    "traefik.io/IngressRouteUDP",
    "traefik.io/TraefikService",
    "route.openshift.io/Route",
    "kuma.io/MeshTCPRoute",
    "split.smi-spec.io/TrafficSplit",
]
WEIGHTS = [kind for kind in ORIGINALS if not kind.endswith("/ServiceRouter")]
RULES = [
    kind
    for kind in ORIGINALS
    if kind not in LAYER4 and not kind.endswith(("/ServiceSplitter", "/UpstreamGroup"))
]
CONSUL = [kind for kind in ORIGINALS if kind.startswith("consul")]
CHANGES = {"set": [{"name": "x-env", "value": "canary"}]}
BETA = header("x-user-group", "beta")


@pytest.mark.parametrize("kind", LAYER4)
async def test_kinds_below_http_cannot_match_requests(script_worker: Worker, kind: str) -> None:
    text = await refused(script_worker, kind, ORIGINALS[kind], matches=[BETA])
    assert text == (
        f"no {kind.rpartition('/')[2]} can match headers, query parameters, cookies, methods or "
        "paths: use traffic instead"
    )


@pytest.mark.parametrize("kind", LAYER4)
async def test_kinds_below_http_cannot_change_requests(script_worker: Worker, kind: str) -> None:
    text = await refused(script_worker, kind, ORIGINALS[kind], 20, requestHeaderModifier=CHANGES)
    assert text == f"no {kind.rpartition('/')[2]} can change headers for one revision"


@pytest.mark.parametrize("kind", WEIGHTS)
async def test_an_object_that_leads_elsewhere_is_refused(script_worker: Worker, kind: str) -> None:
    other: dict[str, Any] = {"stableService": "shop", "canaryService": "shop-canary"}
    text = await refused(script_worker, kind, ORIGINALS[kind], 20, **other)
    assert text == f"no rule of this {kind.rpartition('/')[2]} points at Service shop"


@pytest.mark.parametrize("kind", RULES)
async def test_a_service_that_no_rule_names_is_refused_for_matches_too(
    script_worker: Worker, kind: str
) -> None:
    other: dict[str, Any] = {"stableService": "shop", "canaryService": "shop-canary"}
    text = await refused(script_worker, kind, ORIGINALS[kind], matches=[BETA], **other)
    assert text == f"no rule of this {kind.rpartition('/')[2]} points at Service shop"


@pytest.mark.parametrize("kind", RULES)
async def test_a_match_without_any_condition_is_refused(script_worker: Worker, kind: str) -> None:
    text = await refused(script_worker, kind, ORIGINALS[kind], matches=[{"headers": []}])
    assert text == "a match of this step has no condition"


@pytest.mark.parametrize("kind", RULES)
async def test_an_unknown_type_of_match_is_refused(script_worker: Worker, kind: str) -> None:
    matches = [header("x-a", "b", "Suffix")]
    text = await refused(script_worker, kind, ORIGINALS[kind], matches=matches)
    assert text == f"no {kind.rpartition('/')[2]} can match headers by type Suffix"


@pytest.mark.parametrize("kind", [kind for kind in ORIGINALS if kind not in CONSUL])
async def test_one_service_for_both_revisions_is_refused(script_worker: Worker, kind: str) -> None:
    text = await refused(script_worker, kind, ORIGINALS[kind], 20, canaryService="web")
    assert text == (
        f"no {kind.rpartition('/')[2]} can tell revisions of one Service apart: "
        "the new one needs a Service of its own"
    )


SIXTEEN = "rules: [" + "{backendRefs: [{name: web, port: 80}]}, " * 16 + "]"
REWRITE = """
rules:
- matches: [{path: {type: PathPrefix, value: /a}}]
  filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}]
  backendRefs: [{name: web, port: 80}]
"""
BY_HEADER = """
rules:
- matches: [{headers: [{name: X-User-Group, value: .*, type: RegularExpression}]}]
  backendRefs: [{name: web, port: 80}]
"""
BOTS = """
rules:
- backendRefs: [{name: web, port: 80}]
- matches: [{headers: [{name: user-agent, value: .*Bot.*, type: RegularExpression}]}]
  backendRefs: [{name: bots, port: 80}]
"""
AT_API = """
rules:
- matches: [{path: {value: /api/v1}}]
  backendRefs: [{name: web, port: 80}]
- matches: [{path: {value: /api}}]
  backendRefs: [{name: web, port: 80}]
"""
UNKNOWN = (
    "which requests fit both the path {} of a rule and the path {} of this step cannot be told, because one of them is "
    "a pattern: give the step the path of the rule, or one below it"
)
TENANTS = ", ".join(f"{{headers: [{{name: x-tenant, value: t{at}}}]}}" for at in range(43))
MANY_TENANTS = f"rules: [{{backendRefs: [{{name: web}}]}}, {{matches: [{TENANTS}], backendRefs: [{{name: acme}}]}}]"
MATCHES = ", ".join(f"{{path: {{type: Exact, value: /{at}}}}}" for at in range(64))
MATCHES_IN_ALL = f"rules: [{{matches: [{MATCHES}], backendRefs: [{{name: web}}]}}, {{backendRefs: [{{name: web}}]}}]"
LATER = [
    pytest.param(f"{GATEWAY}/HTTPRoute", BOTS, {"matches": [header("user-agent", "Mobile")]},
                 "a rule already matches the header user-agent in another way", id="guard-two-ways"),
    pytest.param(f"{GATEWAY}/HTTPRoute", AT_API.replace("web", "api", 1),
                 {"matches": [path("/api/[a-z]1.*", "RegularExpression")]},
                 UNKNOWN.format('/api/v1', '/api/[a-z]1.*'), id="guard-expression"),
    pytest.param(f"{GATEWAY}/HTTPRoute", AT_API, {"matches": [path("/help")]},
                 "no rule of this HTTPRoute that points at Service web serves the path /help of this step",
                 id="nobodys-path"),
    pytest.param(f"{GATEWAY}/HTTPRoute", "rules: [{backendRefs: [{name: web, weight: 0}, {name: o}]}]",
                 {"matches": [BETA]},
                 "nothing has a weight above 0 in the rules that point at Service web", id="zero-match"),
    pytest.param(f"{GATEWAY}/HTTPRoute", MANY_TENANTS,
                 {"matches": [{"headers": [*BETA["headers"], {"name": "x-n", "value": str(n)}]} for n in range(3)]},
                 "more than 128 matches would be needed to leave other rules their requests: fewer matches in one step",
                 id="too-many-guards"),
    pytest.param(f"{GATEWAY}/HTTPRoute", MANY_TENANTS,
                 {"matches": [{"headers": [*BETA["headers"], {"name": "x-n", "value": str(n)}]} for n in range(2)]},
                 "a rule would have 86 matches (at most 64): fewer matches in one step", id="too-many-matches"),
    pytest.param(f"{GATEWAY}/HTTPRoute", MATCHES_IN_ALL, {"matches": [BETA]},
                 "the HTTPRoute would have 130 matches in all (at most 128)", id="too-many-in-all"),
    pytest.param("policy.linkerd.io/HTTPRoute", MANY_TENANTS,
                 {"matches": [{"headers": [*BETA["headers"], *header("x-n", "1")["headers"]]}]},
                 "a rule would have 43 matches (at most 8): fewer matches in one step", id="linkerd-guards"),
    pytest.param(f"{GATEWAY}/HTTPRoute",
                 "rules: [{backendRefs: [{name: web}]}, {matches: [{headers: [{name: X-User-Group, value: beta}]}], "
                 "backendRefs: [{name: beta}]}]", {"matches": [BETA]},
                 "all requests that match this step are those of rules that lead elsewhere than to Service web",
                 id="nothing-left"),
    pytest.param(f"{GATEWAY}/GRPCRoute", BACKEND, {"matches": [query("a", "b")]},
                 "no GRPCRoute can match query parameters", id="grpc-query"),
    pytest.param(f"{GATEWAY}/GRPCRoute", BACKEND, {"matches": [path("/a")]},
                 "no GRPCRoute can match paths", id="grpc-path"),
    pytest.param(f"{GATEWAY}/GRPCRoute", BACKEND, {"matches": [{"method": "GET"}]},
                 "no GRPCRoute can match methods", id="grpc-method"),
    pytest.param(f"{GATEWAY}/HTTPRoute", SIXTEEN, {"matches": [BETA]},
                 "the HTTPRoute would have 17 rules (at most 16)", id="too-many-rules"),
    pytest.param("policy.linkerd.io/HTTPRoute", BACKEND,
                 {"matches": [header("a", str(n)) for n in range(9)]},
                 "a rule would have 9 matches (at most 8): fewer matches in one step", id="linkerd"),
    pytest.param(f"{GATEWAY}/HTTPRoute", REWRITE, {"matches": [path("/a/v[0-9]", "RegularExpression")]},
                 "a rule that replaces its prefix cannot match a path by type RegularExpression", id="rewrite"),
    pytest.param(f"{GATEWAY}/HTTPRoute", BY_HEADER, {"matches": [BETA]},
                 "a rule already matches the header X-User-Group in another way", id="two-types"),
    pytest.param(f"{GATEWAY}/HTTPRoute", BY_HEADER.replace(", type: RegularExpression", ""),
                 {"matches": [BETA]},
                 "the matches of this step contradict the conditions of every rule that points at "
                 "Service web", id="never-true"),
    pytest.param(f"{GATEWAY}/HTTPRoute", "rules: [{backendRefs: [{name: web, weight: 0}, {name: o}]}]",
                 {"weight": 20},
                 "nothing has a weight above 0 in the rules that point at Service web", id="zero"),
    pytest.param("projectcontour.io/HTTPProxy", CONTOUR,
                 {"matches": [path("^/v[0-9]+", "RegularExpression")]},
                 "a path of an HTTPProxy begins with /, an expression as well: ^/v[0-9]+",
                 id="contour-expression"),
    pytest.param("projectcontour.io/HTTPProxy", CONTOUR, {"matches": [{"method": "GET"}]},
                 "no HTTPProxy can match methods", id="contour-method"),
    pytest.param("projectcontour.io/HTTPProxy", CONTOUR,
                 {"weight": 20, "requestHeaderModifier": {"add": [{"name": "a", "value": "b"}]}},
                 "no HTTPProxy can add values to headers: set or remove them instead", id="contour-add"),
    pytest.param("projectcontour.io/HTTPProxy", "tcpproxy: {services: [{name: web, port: 80}]}",
                 {"matches": [BETA]},
                 "the TCP proxy of an HTTPProxy cannot match anything: use traffic instead", id="contour-tcp"),
    pytest.param("projectcontour.io/HTTPProxy",
                 "routes: [{pathRewritePolicy: {replacePrefix: [{replacement: /}]}, services: [{name: web}]}]",
                 {"matches": [path("/a", "Exact")]},
                 "a route that replaces its prefix cannot match a path by type Exact", id="contour-rewrite"),
    pytest.param("apisix.apache.org/ApisixRoute", APISIX, {"weight": 20, "requestHeaderModifier": CHANGES},
                 "an ApisixRoute changes headers for a whole rule: give the step matches instead of traffic",
                 id="apisix-headers"),
    pytest.param("apisix.apache.org/ApisixRoute", APISIX.replace("back", "plugins: [{name: traffic-split}], back"),
                 {"weight": 20}, "a rule that points at Service web has a traffic-split of its own",
                 id="apisix-plugin"),
    pytest.param("apisix.apache.org/ApisixRoute", "stream: [{name: s, backend: {serviceName: web}}]", {"weight": 20},
                 "a stream of an ApisixRoute has one backend: neither matches nor traffic can divide it",
                 id="apisix-stream"),
    pytest.param("traefik.io/IngressRoute", TRAEFIK, {"matches": [BETA], "requestHeaderModifier": CHANGES},
                 "no IngressRoute can change headers: that takes a Middleware, which a script cannot make",
                 id="traefik-headers"),
    pytest.param("traefik.io/IngressRoute", TRAEFIK.replace("match:", "priority: 9223372036854774784, match:"),
                 {"matches": [BETA]},
                 "a route's priority is too high for a copy above it: 9223372036854774784", id="traefik-priority"),
    pytest.param("traefik.io/IngressRoute", TRAEFIK, {"matches": [query("a", "b.*", "RegularExpression")],
                                                      "params": {"syntax": "v2"}},
                 "the rule syntax v2 cannot match query parameters by regular expression", id="traefik-v2"),
    pytest.param("traefik.io/TraefikService", "mirroring: {name: web, port: 80}", {"weight": 20},
                 "a TraefikService with mirroring cannot be divided: let it point at a weighted one",
                 id="traefik-mirroring"),
    pytest.param("k8s.nginx.org/VirtualServer", NGINX, {"matches": [path("/a")]},
                 "no VirtualServer can match paths", id="nginx-path"),
    pytest.param("k8s.nginx.org/VirtualServer", NGINX,
                 {"weight": 20, "requestHeaderModifier": {"remove": ["a"]}},
                 "no VirtualServer can add values to headers or remove headers: set them instead",
                 id="nginx-remove"),
    pytest.param("k8s.nginx.org/VirtualServer", NGINX.replace("[{", "[{name: web-canary, service: o}, {", 1),
                 {"weight": 20}, "an upstream named web-canary is there already, for Service o", id="nginx-name"),
    pytest.param("zalando.org/RouteGroup", SKIPPER.replace("[{", "[{name: web-canary, type: shunt}, {", 1),
                 {"weight": 20}, "a backend named web-canary is there already, for another Service",
                 id="skipper-name"),
    pytest.param("zalando.org/RouteGroup", SKIPPER, {"weight": 20, "requestHeaderModifier": CHANGES},
                 "a RouteGroup changes headers for a whole route: give the step matches instead of traffic",
                 id="skipper-headers"),
    pytest.param("kuma.io/MeshHTTPRoute", KUMA, {"weight": 20, "requestHeaderModifier": CHANGES},
                 "a MeshHTTPRoute changes headers for a whole rule only: give the step matches instead of traffic",
                 id="kuma-headers"),
    pytest.param("route.openshift.io/Route", ROUTE + "\nalternateBackends: [{name: a}, {name: b}, {name: c}]",
                 {"weight": 20}, "the Route would have 4 alternate backends (at most 3)", id="openshift"),
    pytest.param("consul.hashicorp.com/ServiceSplitter", SPLITS, {"matches": [BETA]},
                 "no ServiceSplitter can match anything: name the ServiceRouter of web in the release as well",
                 id="splitter"),
    pytest.param("consul.hashicorp.com/ServiceRouter", ROUTER, {"weight": 20},
                 "no ServiceRouter has weights: name the ServiceSplitter of web in the release as well", id="router"),
    pytest.param("gateway.solo.io/VirtualService", GLOO.replace("matchers", "options: {prefixRewrite: /}, matchers"),
                 {"matches": [path("/a[0-9]+", "RegularExpression")]},
                 "a rule that replaces its prefix cannot match a path by type RegularExpression", id="gloo"),
    pytest.param("gloo.solo.io/UpstreamGroup", GROUP, {"matches": [BETA]},
                 "no UpstreamGroup can match anything: name the VirtualService or RouteTable in the release instead",
                 id="gloo-group"),
    pytest.param("split.smi-spec.io/TrafficSplit", SMI.replace("weight: 1", "weight: 1Ki"), {"weight": 20},
                 "the weight 1Ki is no number", id="smi"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "spec", "step", "text"), LATER)
async def test_a_step_that_one_kind_cannot_express_is_refused(
    script_worker: Worker, kind: str, spec: str, step: dict[str, Any], text: str
) -> None:
    assert await refused(script_worker, kind, spec, **step) == text


@pytest.mark.parametrize(
    "kind",
    ["route.openshift.io/Route", "k8s.nginx.org/VirtualServer", "k8s.nginx.org/VirtualServerRoute"],
)
async def test_parts_of_a_percent_are_refused_where_weights_are_small(
    script_worker: Worker, kind: str
) -> None:
    text = await refused(script_worker, kind, ORIGINALS[kind], 0.5)
    name = kind.rpartition("/")[2]
    assert (
        text
        == f"no {name} can express 0.5 % here: its weights are too small for parts of a percent"
    )
