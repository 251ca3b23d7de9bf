"""Routing tables with paths of all sorts, rewrites and something else that each rule does, in every kind's own words.

Invariant: as in `tables`, one abstract table is written by every kind in its own way; rendering invents nothing.
Rules that a kind cannot express are left out by `sayable`, not changed. Each rule does something that no other does
(`mark`), so that a copy of the wrong rule is seen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.routing.model import HOST
from tests.routing.tables import ACME, ADMIN, LEGACY, STABLE, TENANT, Spec


@dataclass(frozen=True)
class PathRule:
    """Requests of a path, perhaps of one tenant only; where they go; what replaces the prefix, if anything does."""

    sort: str
    path: str
    tenant: bool
    backends: tuple[tuple[str, int], ...]
    rewrite: str | None
    mark: int

    @property
    def first(self) -> str:
        """The one Service of a rule of a kind without weights."""
        return self.backends[0][0]


Table = Sequence[PathRule]
Render = Callable[[Table], Spec]
TENANT_HEADER = {"headers": [{"type": "Exact", "name": TENANT, "value": ACME}]}


def _refs(rule: PathRule, name: str, **more: Any) -> list[Spec]:
    return [{name: service, "weight": weight, **more} for service, weight in rule.backends]


def _gateway_match(rule: PathRule) -> Spec:
    return {
        "path": {"type": rule.sort, "value": rule.path},
        **(TENANT_HEADER if rule.tenant else {}),
    }


def _gateway_filters(rule: PathRule) -> list[Spec]:
    marked = {"set": [{"name": "x-mark", "value": str(rule.mark)}]}
    found: list[Spec] = [{"type": "RequestHeaderModifier", "requestHeaderModifier": marked}]
    if rule.rewrite:
        path = {"type": "ReplacePrefixMatch", "replacePrefixMatch": rule.rewrite}
        found.append({"type": "URLRewrite", "urlRewrite": {"path": path}})
    return found


def http_route(table: Table) -> Spec:
    """HTTPRoute."""
    return {
        "rules": [
            {
                "matches": [_gateway_match(rule)],
                "filters": _gateway_filters(rule),
                "backendRefs": _refs(rule, "name", port=80),
            }
            for rule in table
        ]
    }


def mesh_http_route(table: Table) -> Spec:
    """Kuma MeshHTTPRoute."""
    rules = [
        {
            "matches": [_gateway_match(rule)],
            "default": {
                "filters": _gateway_filters(rule),
                "backendRefs": _refs(rule, "name", kind="MeshService", port=80),
            },
        }
        for rule in table
    ]
    return {"to": [{"targetRef": {"kind": "MeshService", "name": STABLE}, "rules": rules}]}


def _key(rule: PathRule, exact: str, prefix: str) -> Spec:
    return {exact if rule.sort == "Exact" else prefix: rule.path}


def virtual_service(table: Table) -> Spec:
    """Istio VirtualService."""
    header = {"headers": {TENANT: {"exact": ACME}}}
    return {
        "http": [
            {
                "match": [
                    {"uri": _key(rule, "exact", "prefix"), **(header if rule.tenant else {})}
                ],
                "timeout": f"{rule.mark}s",
                **({"rewrite": {"uri": rule.rewrite}} if rule.rewrite else {}),
                "route": [
                    {"destination": {"host": service}, "weight": weight}
                    for service, weight in rule.backends
                ],
            }
            for rule in table
        ]
    }


def http_proxy(table: Table) -> Spec:
    """Contour HTTPProxy; every second rewrite says the prefix that it replaces."""
    header = [{"header": {"name": TENANT, "exact": ACME}}]

    def policy(rule: PathRule) -> Spec:
        if not rule.rewrite:
            return {}
        named = {"prefix": rule.path} if rule.mark % 2 else {}
        return {
            "pathRewritePolicy": {"replacePrefix": [{**named, "replacement": rule.rewrite}]},
        }

    return {
        "routes": [
            {
                "conditions": [*(header if rule.tenant else ()), _key(rule, "exact", "prefix")],
                "timeoutPolicy": {"response": f"{rule.mark}s"},
                **policy(rule),
                "services": _refs(rule, "name", port=80),
            }
            for rule in table
        ]
    }


def gloo_routes(table: Table) -> Spec:
    """Gloo RouteTable."""
    header = {"headers": [{"name": TENANT, "value": ACME}]}

    def action(rule: PathRule) -> Spec:
        found = [
            {"weight": weight, "destination": {"kube": {"ref": {"name": service}, "port": 80}}}
            for service, weight in rule.backends
        ]
        return {"multi": {"destinations": found}}

    return {
        "routes": [
            {
                "matchers": [{**_key(rule, "exact", "prefix"), **(header if rule.tenant else {})}],
                "options": {
                    "timeout": f"{rule.mark}s",
                    **({"prefixRewrite": rule.rewrite} if rule.rewrite else {}),
                },
                "routeAction": action(rule),
            }
            for rule in table
        ]
    }


def traffic_route(table: Table) -> Spec:
    """Kuma TrafficRoute: a request that fits no rule goes to another Service."""
    header = {"headers": {TENANT: {"exact": ACME}}}

    def destination(name: str) -> Spec:
        return {"kuma.io/service": f"{name}_demo_svc_80"}

    def modify(rule: PathRule) -> Spec:
        marked = {"requestHeaders": {"add": [{"name": "x-mark", "value": str(rule.mark)}]}}
        return {**marked, **({"path": {"rewritePrefix": rule.rewrite}} if rule.rewrite else {})}

    return {
        "conf": {
            "http": [
                {
                    "match": {
                        "path": _key(rule, "exact", "prefix"),
                        **(header if rule.tenant else {}),
                    },
                    "modify": modify(rule),
                    "split": [
                        {"weight": weight, "destination": destination(service)}
                        for service, weight in rule.backends
                    ],
                }
                for rule in table
            ],
            "destination": destination(LEGACY),
        }
    }


def service_router(table: Table) -> Spec:
    """Consul ServiceRouter."""
    header = {"header": [{"name": TENANT, "exact": ACME}]}
    return {
        "routes": [
            {
                "match": {
                    "http": {
                        **_key(rule, "pathExact", "pathPrefix"),
                        **(header if rule.tenant else {}),
                    }
                },
                "destination": {
                    "service": rule.first,
                    "requestTimeout": f"{rule.mark}s",
                    **({"prefixRewrite": rule.rewrite} if rule.rewrite else {}),
                },
            }
            for rule in table
        ]
    }


def envoy_config(table: Table) -> Spec:
    """CiliumEnvoyConfig; prefixes are by turns of letters and of parts."""
    header = {"headers": [{"name": TENANT, "string_match": {"exact": ACME}}]}
    kinds = "type.googleapis.com/envoy.config"

    def place(rule: PathRule) -> Spec:
        parts = rule.mark % 2 and rule.path != "/"
        return _key(rule, "path", "path_separated_prefix" if parts else "prefix")

    routes = [
        {
            "match": {**place(rule), **(header if rule.tenant else {})},
            "route": {
                "weighted_clusters": {
                    "clusters": [{"name": f"demo/{n}", "weight": w} for n, w in rule.backends]
                },
                "timeout": f"{rule.mark}s",
                **({"prefix_rewrite": rule.rewrite} if rule.rewrite else {}),
            },
        }
        for rule in table
    ]
    services = (STABLE, LEGACY, ADMIN)
    return {
        "services": [{"name": STABLE, "namespace": "demo"}],
        "backendServices": [{"name": name, "namespace": "demo"} for name in services],
        "resources": [
            {
                "@type": f"{kinds}.route.v3.RouteConfiguration",
                "virtual_hosts": [{"name": "all", "domains": [HOST], "routes": routes}],
            },
            *(
                {"@type": f"{kinds}.cluster.v3.Cluster", "name": f"demo/{name}", "type": "EDS"}
                for name in services
            ),
        ],
    }


def apisix_route(table: Table) -> Spec:
    """Apache APISIX ApisixRoute; a prefix is two paths, as its document says; rules for one tenant go before others."""
    expr = {"subject": {"scope": "Header", "name": TENANT}, "op": "Equal", "value": ACME}

    def places(rule: PathRule) -> list[str]:
        if rule.sort == "Exact":
            return [rule.path]
        return [rule.path, f"{rule.path}/*"] if rule.path != "/" else ["/*"]

    return {
        "http": [
            {
                "name": f"rule-{rule.mark}",
                "priority": 10 if rule.tenant else rule.mark % 2,
                "match": {"paths": places(rule), **({"exprs": [expr]} if rule.tenant else {})},
                "plugins": [{"name": "limit-req", "enable": True, "config": {"rate": rule.mark}}],
                "backends": _refs(rule, "serviceName", servicePort=80),
            }
            for rule in table
        ]
    }


def ingress_route(table: Table) -> Spec:
    """Traefik IngressRoute."""
    return {
        "routes": [
            {
                "kind": "Rule",
                "match": f"Host(`{HOST}`)"
                + (f" && Header(`{TENANT}`, `{ACME}`)" if rule.tenant else "")
                + f" && {'Path' if rule.sort == 'Exact' else 'PathPrefix'}(`{rule.path}`)",
                "middlewares": [{"name": f"mark-{rule.mark}"}],
                "services": _refs(rule, "name", port=80),
            }
            for rule in table
        ]
    }


def route_group(table: Table) -> Spec:
    """Skipper RouteGroup."""
    return {
        "backends": [
            {"name": name, "type": "service", "serviceName": name, "servicePort": 80}
            for name in (STABLE, LEGACY, ADMIN)
        ],
        "routes": [
            {
                **_key(rule, "path", "pathSubtree"),
                **({"predicates": [f'Header("{TENANT}", "{ACME}")']} if rule.tenant else {}),
                "filters": [f'setRequestHeader("x-mark", "{rule.mark}")'],
                "backends": _refs(rule, "backendName"),
            }
            for rule in table
        ],
    }


def mapping(table: Table) -> Spec:
    """Emissary: a Mapping, which is all that a script sees."""
    rule = table[0]
    return {
        "mappings": [
            {
                "hostname": HOST,
                "prefix": rule.path,
                "service": f"{rule.first}.demo:80",
                "timeout_ms": rule.mark,
                **({"prefix_exact": True} if rule.sort == "Exact" else {}),
                **({"headers": {TENANT: ACME}} if rule.tenant else {}),
                **({"rewrite": rule.rewrite} if rule.rewrite else {}),
            }
        ]
    }
