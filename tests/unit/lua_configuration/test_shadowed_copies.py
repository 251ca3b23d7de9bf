"""A copy that no request can reach is left out; a step without any other is refused, with the rule that takes all.

Otherwise the gateway accepts the copy, the new version gets no request, and a person approves a version that nobody
has used.
"""

from typing import Any

import pytest

from tests.component.luaworker.process import Worker
from tests.unit.lua_configuration.running import answered, header, refused

STEP = [header("x-canary", "true")]
KUBE = "routeAction: {single: {kube: {ref: {name: %s, namespace: demo}, port: 80}}}"
ADMIN, WEB = KUBE % "admin", KUBE % "web"
CONFIG = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"

SHADOWED = {
    "networking.istio.io/VirtualService": """
        http:
        - match: [{headers: {x-canary: {exact: "true"}}}]
          route: [{destination: {host: admin}}]
        - match: [{uri: {prefix: /b}}]
          route: [{destination: {host: web}}]
        - route: [{destination: {host: web}}]
        """,
    "gateway.solo.io/RouteTable": f"""
        routes:
        - {{matchers: [{{prefix: /, headers: [{{name: x-canary, value: "true"}}]}}], {ADMIN}}}
        - {{matchers: [{{prefix: /b}}], {WEB}}}
        - {{{WEB}}}
        """,
    "gateway.solo.io/VirtualService": f"""
        virtualHost:
          routes:
          - {{matchers: [{{prefix: /, headers: [{{name: x-canary, value: "true"}}]}}], {ADMIN}}}
          - {{matchers: [{{prefix: /b}}], {WEB}}}
        """,
    "consul.hashicorp.com/ServiceRouter": """
        routes:
        - match: {http: {header: [{name: x-canary, exact: "true"}]}}
          destination: {service: admin}
        - match: {http: {pathPrefix: /b}}
          destination: {service: web}
        """,
    "cilium.io/CiliumEnvoyConfig": f"""
        resources:
        - "@type": {CONFIG}
          virtual_hosts:
          - routes:
            - match: {{prefix: /, headers: [{{name: x-canary, string_match: {{exact: "true"}}}}]}}
              route: {{cluster: demo/admin}}
            - match: {{prefix: /b}}
              route: {{cluster: demo/web}}
        """,
    "kuma.io/TrafficRoute": """
        conf:
          http:
          - match: {headers: {x-canary: {exact: "true"}}}
            destination: {kuma.io/service: admin_demo_svc_80}
          - match: {path: {prefix: /b}}
            destination: {kuma.io/service: web_demo_svc_80}
          destination: {kuma.io/service: web_demo_svc_80}
        """,
    "gateway.networking.k8s.io/HTTPRoute": """
        rules:
        - matches: [{headers: [{name: X-Canary, value: "true"}]}]
          backendRefs: [{name: admin, port: 80}]
        - backendRefs: [{name: web, port: 80}]
        """,
    "gateway.networking.k8s.io/GRPCRoute": """
        rules:
        - matches: [{headers: [{name: x-canary, value: "true"}]}]
          backendRefs: [{name: admin, port: 80}]
        - backendRefs: [{name: web, port: 80}]
        """,
    "policy.linkerd.io/HTTPRoute": """
        rules:
        - matches: [{path: {value: /}, headers: [{name: x-canary, value: "true"}]}]
          backendRefs: [{name: admin, port: 80}]
        - backendRefs: [{name: web, port: 80}]
        """,
    "projectcontour.io/HTTPProxy": """
        routes:
        - conditions: [{header: {name: x-canary, exact: "true"}}]
          services: [{name: admin, port: 80}]
        - services: [{name: web, port: 80}]
        """,
    "kuma.io/MeshHTTPRoute": """
        to:
        - targetRef: {kind: MeshService, name: web}
          rules:
          - matches: [{headers: [{type: Exact, name: x-canary, value: "true"}]}]
            default: {backendRefs: [{kind: MeshService, name: admin}]}
          - matches: [{path: {type: PathPrefix, value: /}}]
            default: {}
        """,
    "zalando.org/RouteGroup": """
        backends:
        - {name: web, type: service, serviceName: web, servicePort: 80}
        - {name: admin, type: service, serviceName: admin, servicePort: 80}
        routes:
        - {pathSubtree: /, predicates: ['Header("x-canary", "true")'], backends: [{backendName: admin}]}
        - {pathSubtree: /, backends: [{backendName: web}]}
        """,
    "apisix.apache.org/ApisixRoute": """
        http:
        - name: admin
          priority: 5
          match: {paths: [/*], exprs: [{subject: {scope: Header, name: x-canary}, op: Equal, value: "true"}]}
          backends: [{serviceName: admin, servicePort: 80}]
        - name: web
          match: {paths: [/*]}
          backends: [{serviceName: web, servicePort: 80}]
        """,
    "traefik.io/IngressRoute": """
        routes:
        - match: Host(`a`) && Header(`x-canary`, `true`)
          services: [{name: admin, port: 80}]
        - match: Host(`a`)
          services: [{name: web, port: 80}]
        """,
    "k8s.nginx.org/VirtualServer": """
        upstreams: [{name: web, service: web, port: 80}, {name: admin, service: admin, port: 80}]
        routes:
        - path: /
          matches: [{conditions: [{header: x-canary, value: "true"}], action: {pass: admin}}]
          action: {pass: web}
        """,
    "k8s.nginx.org/VirtualServerRoute": """
        upstreams: [{name: web, service: web, port: 80}, {name: admin, service: admin, port: 80}]
        subroutes:
        - path: /
          matches: [{conditions: [{header: X-Canary, value: "~^true$"}], action: {pass: admin}}]
          action: {pass: web}
        """,
}


@pytest.mark.parametrize("kind", SHADOWED)
async def test_a_step_without_requests_is_refused(script_worker: Worker, kind: str) -> None:
    why = await refused(script_worker, kind, SHADOWED[kind], matches=STEP)
    assert "admin" in why or "lead elsewhere than to Service web" in why


async def test_a_shorter_path_of_others_takes_a_step_inside_it(script_worker: Worker) -> None:
    routes = """
        routes:
        - match: PathPrefix(`/`)
          services: [{name: web, port: 80}]
        - match: PathPrefix(`/api`)
          services: [{name: web, port: 80, weight: 0}, {name: legacy, port: 80, weight: 1}]
        """
    inside = [{"path": {"type": "PathPrefix", "value": "/api/v2"}}]
    why = await refused(script_worker, "traefik.io/IngressRoute", routes, matches=inside)
    assert "which leads to legacy" in why


# The alternatives of an IngressRoute share one text.
@pytest.mark.parametrize("kind", [kind for kind in SHADOWED if not kind.startswith("traefik")])
async def test_only_the_alternatives_that_requests_can_reach_are_copied(
    script_worker: Worker, kind: str
) -> None:
    reached = [header("x-tester", "1")]
    alone = await answered(script_worker, kind, SHADOWED[kind], matches=reached)
    both = await answered(script_worker, kind, SHADOWED[kind], matches=[*STEP, *reached])
    assert "x-tester" in str(both)
    assert times(both, "x-canary") == times(alone, "x-canary")


def times(spec: Any, name: str) -> int:
    """How often a header stands in an object: a copy for it, and its guard, would have it once more."""
    return str(spec).lower().count(name)


CONTRADICTORY = {
    "networking.istio.io/VirtualService": """
        http: [{match: [{withoutHeaders: {%s}}], route: [{destination: {host: web}}]}]
        """,
    "gateway.solo.io/RouteTable": "routes: [{matchers: [{prefix: /, headers: [%s]}], " + WEB + "}]",
    "consul.hashicorp.com/ServiceRouter": """
        routes: [{match: {http: {header: [%s]}}, destination: {service: web}}]
        """,
    "cilium.io/CiliumEnvoyConfig": """
        resources:
        - "@type": CONFIG
          virtual_hosts: [{routes: [{match: {prefix: /, headers: [%s]}, route: {cluster: demo/web}}]}]
        """.replace("CONFIG", CONFIG),
    "projectcontour.io/HTTPProxy": """
        routes: [{conditions: [{header: {name: x-canary, %s}}], services: [{name: web, port: 80}]}]
        """,
    "k8s.nginx.org/VirtualServer": """
        upstreams: [{name: web, service: web, port: 80}, {name: admin, service: admin, port: 80}]
        routes:
        - path: /
          matches: [{conditions: [{header: x-canary, value: "%s"}], action: {pass: web}}]
          action: {pass: admin}
        """,
    "traefik.io/IngressRoute": """
        routes: [{match: "Host(`a`) && %s", services: [{name: web, port: 80}]}]
        """,
}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("networking.istio.io/VirtualService", 'x-canary: {exact: "true"}'),
        ("networking.istio.io/VirtualService", "X-Canary: {prefix: tr}"),
        ("networking.istio.io/VirtualService", "x-canary: {}"),
        (
            "gateway.solo.io/RouteTable",
            '{name: x-canary, value: "true", invertMatch: true}',
        ),
        ("gateway.solo.io/RouteTable", "{name: x-canary, invertMatch: true}"),
        (
            "consul.hashicorp.com/ServiceRouter",
            '{name: x-canary, exact: "true", invert: true}',
        ),
        (
            "consul.hashicorp.com/ServiceRouter",
            "{name: x-canary, present: true, invert: true}",
        ),
        (
            "cilium.io/CiliumEnvoyConfig",
            '{name: x-canary, string_match: {exact: "true"}, invert_match: true}',
        ),
        (
            "cilium.io/CiliumEnvoyConfig",
            "{name: x-canary, present_match: true, invert_match: true}",
        ),
        ("projectcontour.io/HTTPProxy", 'notexact: "true"'),
        ("projectcontour.io/HTTPProxy", "notpresent: true"),
        ("projectcontour.io/HTTPProxy", "notcontains: ru"),
        ("k8s.nginx.org/VirtualServer", "!True"),
        ("k8s.nginx.org/VirtualServer", "false"),
        ("traefik.io/IngressRoute", "!Header(`x-canary`, `true`)"),
    ],
)
async def test_a_copy_that_its_own_rule_excludes_is_none(
    script_worker: Worker, kind: str, text: str
) -> None:
    # A ServiceRouter named after the Service would have a copy for the route that Consul adds by itself.
    why = await refused(script_worker, kind, CONTRADICTORY[kind] % text, matches=STEP, name="api")
    assert "contradict" in why


@pytest.mark.parametrize(
    "rule",
    [
        '{match: [{uri: {prefix: /b}, headers: {x-canary: {exact: "true"}}}]}',
        '{match: [{headers: {x-canary: {exact: "true"}, x-other: {}}}]}',
        "{match: [{headers: {x-canary: {exact: other}}}]}",
        '{match: [{headers: {x-canary: {exact: "true"}}, gateways: [mesh]}]}',
        '{match: [{headers: {x-canary: {exact: "true"}}, withoutHeaders: {x-other: {}}}]}',
        '{delegate: {name: b}, match: [{headers: {x-canary: {exact: "true"}}}]}',
    ],
)
async def test_a_rule_that_may_leave_requests_shadows_nothing(
    script_worker: Worker, rule: str
) -> None:
    admin = rule.replace("}]}", "}], route: [{destination: {host: admin}}]}")
    spec = f"http: [{admin}, {{route: [{{destination: {{host: web}}}}]}}]"
    found = await answered(script_worker, "networking.istio.io/VirtualService", spec, matches=STEP)
    assert len(found["http"]) == 3


@pytest.mark.parametrize(
    "match",
    [
        "headers: {x-canary: {}}",
        'uri: {prefix: /}, headers: {x-canary: {exact: "true"}}',
        "uri: {prefix: /SHOP}, ignoreUriCase: true",
        "name: all",
    ],
)
async def test_a_rule_that_takes_more_than_the_copy_shadows_it(
    script_worker: Worker, match: str
) -> None:
    spec = f"""
    http:
    - match: [{{{match}}}]
      redirect: {{uri: /}}
    - match: [{{uri: {{prefix: /shop}}}}]
      route: [{{destination: {{host: web}}}}]
    """
    why = await refused(script_worker, "networking.istio.io/VirtualService", spec, matches=STEP)
    assert "rule 1, which leads elsewhere, wins over the rules" in why
