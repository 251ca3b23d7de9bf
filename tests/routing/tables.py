"""Routing tables as owners write them, in every kind's own words.

Invariant: one abstract table (rules by path prefix and, some, a header; backends with weights) is written by every
family in its own way, so that what is claimed about one is claimed about all. Rendering invents nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.routing.model import HOST

STABLE, CANARY, LEGACY, ADMIN = "web", "web-canary", "legacy", "admin"
TENANT, ACME = "x-tenant", "acme"
Spec = dict[str, Any]


@dataclass(frozen=True)
class Rule:
    """Requests below a path, perhaps of one tenant only, and where they go; a weight of None is left out."""

    prefix: str
    tenant: bool
    backends: tuple[tuple[str, int | None], ...]


Table = Sequence[Rule]
Render = Callable[[Table], Spec]


def weighted(rule: Rule, name: str, **more: Any) -> list[Spec]:
    """Return the backends of a rule with their name under `name`."""
    return [
        {name: backend, **more, **({} if weight is None else {"weight": weight})}
        for backend, weight in rule.backends
    ]


def http_route(table: Table) -> Spec:
    """HTTPRoute."""
    header = {"headers": [{"type": "Exact", "name": TENANT, "value": ACME}]}
    return {
        "hostnames": [HOST],
        "rules": [
            {
                "matches": [
                    {
                        "path": {"type": "PathPrefix", "value": rule.prefix},
                        **(header if rule.tenant else {}),
                    }
                ],
                "backendRefs": weighted(rule, "name", port=80),
            }
            for rule in table
        ],
    }


def virtual_service(table: Table) -> Spec:
    """Istio VirtualService."""
    header = {"headers": {TENANT: {"exact": ACME}}}
    return {
        "hosts": [HOST],
        "http": [
            {
                "match": [{"uri": {"prefix": rule.prefix}, **(header if rule.tenant else {})}],
                "route": [
                    {
                        "destination": {"host": backend},
                        **({} if weight is None else {"weight": weight}),
                    }
                    for backend, weight in rule.backends
                ],
            }
            for rule in table
        ],
    }


def http_proxy(table: Table) -> Spec:
    """Contour HTTPProxy."""
    header = [{"header": {"name": TENANT, "exact": ACME}}]
    return {
        "virtualhost": {"fqdn": HOST},
        "routes": [
            {
                "conditions": [{"prefix": rule.prefix}, *(header if rule.tenant else ())],
                "services": weighted(rule, "name", port=80),
            }
            for rule in table
        ],
    }


def ingress_route(table: Table) -> Spec:
    """Traefik IngressRoute."""
    return {
        "routes": [
            {
                "kind": "Rule",
                "match": f"Host(`{HOST}`) && PathPrefix(`{rule.prefix}`)"
                + (f" && Header(`{TENANT}`, `{ACME}`)" if rule.tenant else ""),
                "services": weighted(rule, "name", port=80),
            }
            for rule in table
        ]
    }


def apisix_route(table: Table) -> Spec:
    """Apache APISIX ApisixRoute; a rule for one tenant goes before the one for all."""
    expr = {"subject": {"scope": "Header", "name": TENANT}, "op": "Equal", "value": ACME}
    return {
        "http": [
            {
                "name": f"rule-{number}",
                **({"priority": 10} if rule.tenant else {}),
                "match": {
                    "hosts": [HOST],
                    "paths": [f"{rule.prefix.rstrip('/')}/*"],
                    **({"exprs": [expr]} if rule.tenant else {}),
                },
                "backends": weighted(rule, "serviceName", servicePort=80),
            }
            for number, rule in enumerate(table)
        ]
    }


def virtual_server(table: Table) -> Spec:
    """NGINX VirtualServer: rules of one path are one route, those of a tenant its matches."""

    def outcome(rule: Rule) -> Spec:
        if len(rule.backends) == 1:
            return {"action": {"pass": rule.backends[0][0]}}
        first = round(100 * (rule.backends[0][1] or 0) / sum(w or 0 for _, w in rule.backends))
        shares = (max(1, min(99, first)), 100 - max(1, min(99, first)))
        return {
            "splits": [
                {"weight": share, "action": {"pass": name}}
                for share, (name, _) in zip(shares, rule.backends, strict=True)
            ]
        }

    def route(prefix: str) -> Spec:
        rules = [rule for rule in table if rule.prefix == prefix]
        condition = {"header": TENANT, "value": ACME}
        matches = [{"conditions": [condition], **outcome(r)} for r in rules if r.tenant]
        rest = next((outcome(r) for r in rules if not r.tenant), {"action": {"pass": ADMIN}})
        return {"path": prefix, **({"matches": matches} if matches else {}), **rest}

    services = (STABLE, LEGACY, ADMIN)
    return {
        "host": HOST,
        "upstreams": [{"name": name, "service": name, "port": 80} for name in services],
        "routes": [route(prefix) for prefix in dict.fromkeys(rule.prefix for rule in table)],
    }


def virtual_server_route(table: Table) -> Spec:
    """NGINX VirtualServerRoute: a VirtualServer's routes are its subroutes."""
    spec = virtual_server(table)
    return {**{k: v for k, v in spec.items() if k != "routes"}, "subroutes": spec["routes"]}


def gloo_routes(table: Table) -> Spec:
    """Gloo RouteTable; without weights two backends share evenly."""

    def action(rule: Rule) -> Spec:
        found = [
            {
                "weight": weight or 1,
                "destination": {"kube": {"ref": {"name": name, "namespace": "demo"}, "port": 80}},
            }
            for name, weight in rule.backends
        ]
        one = len(found) == 1
        return {"single": found[0]["destination"]} if one else {"multi": {"destinations": found}}

    header = {"headers": [{"name": TENANT, "value": ACME}]}
    return {
        "routes": [
            {
                "matchers": [{"prefix": rule.prefix, **(header if rule.tenant else {})}],
                "routeAction": action(rule),
            }
            for rule in table
        ]
    }


def gloo_virtual_service(table: Table) -> Spec:
    """Gloo VirtualService."""
    return {"virtualHost": {"domains": [HOST], **gloo_routes(table)}}


def mesh_http_route(table: Table) -> Spec:
    """Kuma MeshHTTPRoute: one list, about the stable Service."""
    header = {"headers": [{"type": "Exact", "name": TENANT, "value": ACME}]}
    rules = [
        {
            "matches": [
                {
                    "path": {"type": "PathPrefix", "value": rule.prefix},
                    **(header if rule.tenant else {}),
                }
            ],
            "default": {"backendRefs": weighted(rule, "name", kind="MeshService", port=80)},
        }
        for rule in table
    ]
    return {"to": [{"targetRef": {"kind": "MeshService", "name": STABLE}, "rules": rules}]}


def route_group(table: Table) -> Spec:
    """Skipper RouteGroup."""
    return {
        "hosts": [HOST],
        "backends": [
            {"name": name, "type": "service", "serviceName": name, "servicePort": 80}
            for name in (STABLE, LEGACY, ADMIN)
        ],
        "routes": [
            {
                "pathSubtree": rule.prefix,
                **({"predicates": [f'Header("{TENANT}", "{ACME}")']} if rule.tenant else {}),
                "backends": weighted(rule, "backendName"),
            }
            for rule in table
        ],
    }


def service_router(table: Table) -> Spec:
    """Consul ServiceRouter: a route has one destination."""
    header = {"header": [{"name": TENANT, "exact": ACME}]}
    return {
        "routes": [
            {
                "match": {"http": {"pathPrefix": rule.prefix, **(header if rule.tenant else {})}},
                "destination": {"service": rule.backends[0][0]},
            }
            for rule in table
        ]
    }


def mappings(table: Table) -> Spec:
    """Emissary: a Mapping for each rule; where Services share a rule, the first has it alone."""
    return {
        "mappings": [
            {
                "hostname": HOST,
                "prefix": rule.prefix,
                "service": f"{rule.backends[0][0]}.demo:80",
                **({"headers": {TENANT: ACME}} if rule.tenant else {}),
            }
            for rule in table
        ]
    }


def traffic_route(table: Table) -> Spec:
    """Kuma TrafficRoute: a request that fits no rule goes to the stable Service."""

    def destination(name: str) -> Spec:
        return {"kuma.io/service": f"{name}_demo_svc_80"}

    def outcome(rule: Rule) -> Spec:
        if len(rule.backends) == 1:
            return {"destination": destination(rule.backends[0][0])}
        return {
            "split": [
                {"weight": weight or 0, "destination": destination(name)}
                for name, weight in rule.backends
            ]
        }

    header = {"headers": {TENANT: {"exact": ACME}}}
    return {
        "conf": {
            "http": [
                {
                    "match": {"path": {"prefix": rule.prefix}, **(header if rule.tenant else {})},
                    **outcome(rule),
                }
                for rule in table
            ],
            "destination": destination(STABLE),
        }
    }


def cis_pool(rule: Rule) -> Spec:
    """A pool of F5 CIS: its Service, and others as alternate backends."""
    first, *others = weighted(rule, "service")
    return {"servicePort": 80, **first, **({"alternateBackends": others} if others else {})}


def cis_virtual_server(table: Table) -> Spec:
    """F5 CIS VirtualServer: a pool for each path."""
    pools: dict[str, Spec] = {}
    for rule in table:
        pools.setdefault(rule.prefix, {"path": rule.prefix, **cis_pool(rule)})
    return {"host": HOST, "pools": list(pools.values())}


def envoy_config(table: Table) -> Spec:
    """CiliumEnvoyConfig: routes, and all that they lead to."""

    def action(rule: Rule) -> Spec:
        if len(rule.backends) == 1:
            return {"cluster": f"demo/{rule.backends[0][0]}"}
        found = [{"name": f"demo/{name}", "weight": weight or 0} for name, weight in rule.backends]
        return {"weighted_clusters": {"clusters": found}}

    header = {"headers": [{"name": TENANT, "string_match": {"exact": ACME}}]}
    kinds = "type.googleapis.com/envoy.config"
    routes = [
        {"match": {"prefix": rule.prefix, **(header if rule.tenant else {})}, "route": action(rule)}
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


def uncontested(render: Render) -> Render:
    """The table without other Services' rules for one tenant where the rule for all leads to the stable Service.

    A Mapping knows of no other: a step's copy of the rule for all may win over such a rule.
    """

    def rendered(table: Table) -> Spec:
        ours = {rule.prefix for rule in table if not rule.tenant and rule.backends[0][0] == STABLE}
        return render(
            [r for r in table if not (r.tenant and r.prefix in ours) or r.backends[0][0] == STABLE]
        )

    return rendered


def for_all_tenants(render: Render) -> Render:
    """The table without rules for one tenant, for kinds whose rules have no conditions."""

    def rendered(table: Table) -> Spec:
        first: dict[str, Rule] = {}
        for rule in table:
            known = first.get(rule.prefix)
            if known is None or any(name == STABLE for name, _ in rule.backends):
                first[rule.prefix] = Rule(rule.prefix, False, rule.backends)
        return render(list(first.values()))

    return rendered


def only_weights(wrap: Callable[[Rule], Spec]) -> Render:
    """Return how a kind without rules says the first rule that leads to the stable Service."""
    return lambda table: wrap(next(r for r in table if any(n == STABLE for n, _ in r.backends)))


def openshift_route(rule: Rule) -> Spec:
    """OpenShift Route."""
    first, *others = [{"kind": "Service", **entry} for entry in weighted(rule, "name")]
    return {"to": first, **({"alternateBackends": others} if others else {})}


def traffic_split(rule: Rule) -> Spec:
    """SMI TrafficSplit."""
    backends = [{"service": name, "weight": weight or 1} for name, weight in rule.backends]
    return {"service": STABLE, "backends": backends}


def service_splitter(rule: Rule) -> Spec:
    """Consul ServiceSplitter: percentages."""
    if len(rule.backends) == 1:
        return {"splits": [{"weight": 100, "service": STABLE}]}
    first = max(1, min(99, rule.backends[0][1] or 50))
    names = [name for name, _ in rule.backends]
    return {
        "splits": [
            {"weight": first, "service": names[0]},
            {"weight": 100 - first, "service": names[1]},
        ]
    }


def upstream_group(rule: Rule) -> Spec:
    """Gloo UpstreamGroup."""
    return {
        "destinations": [
            {
                "weight": weight or 1,
                "destination": {"kube": {"ref": {"name": name, "namespace": "demo"}, "port": 80}},
            }
            for name, weight in rule.backends
        ]
    }


def mesh_tcp_route(rule: Rule) -> Spec:
    """Kuma MeshTCPRoute."""
    refs = weighted(rule, "name", kind="MeshService", port=80)
    target = {"kind": "MeshService", "name": STABLE}
    return {"to": [{"targetRef": target, "rules": [{"default": {"backendRefs": refs}}]}]}


def traefik_service(rule: Rule) -> Spec:
    """TraefikService."""
    return {"weighted": {"services": weighted(rule, "name", port=80)}}


def traefik_layer_four(rule: Rule) -> Spec:
    """IngressRouteTCP and IngressRouteUDP."""
    return {"routes": [{"match": "HostSNI(`*`)", "services": weighted(rule, "name", port=80)}]}


def gateway_layer_four(rule: Rule) -> Spec:
    """TCPRoute, TLSRoute, UDPRoute."""
    return {"rules": [{"backendRefs": weighted(rule, "name", port=80)}]}
