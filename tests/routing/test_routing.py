"""At every step, the step's requests go to the new version, and all others go where the original sent them.

The packaged scripts run in the real worker; the objects they make are judged by simulators of the gateways, for every
request of a vocabulary. Where the stable Service is alone in a rule, shares are exact if the kind's weights can be any
numbers; beside others they are within half a percent of the rule; where the sum is bound, as near as whole numbers get.
"""

import itertools
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from controller.domain.traffic.plan.header import parse_header
from tests.component.luaworker.process import Worker
from tests.examples import sampled
from tests.routing import (
    apisix,
    cilium,
    consul,
    contour,
    emissary,
    f5,
    gateway_api,
    gloo,
    istio,
    kuma,
    nginx,
    skipper,
    tables,
    traefik,
    weights,
)
from tests.routing.model import Request, Shares, Simulator, Tree, whole
from tests.routing.tables import ADMIN, CANARY, LEGACY, STABLE, Render, Rule, Spec, Table
from tests.unit.lua_configuration.running import (
    IN_VAIN,
    Refused,
    answered,
    header,
    query,
    run,
    script_of,
)

EXAMPLES = settings(
    max_examples=sampled(8, 25),
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


Change = Callable[..., Awaitable[Tree]]
"""(worker, kind, original, weight, matches) → the gateway's objects after the step."""


async def each_mapping(
    worker: Worker, kind: str, original: Spec, weight: float = -1, **more: Any
) -> Tree:
    """Every Mapping of the stable Service is a reference of its own, and has Mappings made beside it."""
    made = list(original["mappings"])
    for number, spec in enumerate(original["mappings"]):
        if spec["service"].startswith(f"{STABLE}."):
            answer = await run(worker, kind, spec, weight, name=f"web-{number}", **more)
            assert answer.message == ""
            found = json.loads(answer.result_json)
            assert found["spec"] == spec
            made += [one["spec"] for one in found.get("objects") or ()]
    return {"mappings": made}


@dataclass(frozen=True)
class Family:
    """A kind: how it writes a table, its simulator, and the largest error of whole numbers."""

    render: Render
    simulate: Simulator
    off: Fraction = Fraction(0)
    rounds: bool = True
    by_specificity: bool = False
    """The number of conditions decides between rules of one path, not their order or priority."""
    change: Change = answered
    """How a step changes the gateway's objects."""


GATEWAY = "gateway.networking.k8s.io"
RULES = {
    f"{GATEWAY}/HTTPRoute": Family(tables.http_route, gateway_api.http_route, by_specificity=True),
    "policy.linkerd.io/HTTPRoute": Family(
        tables.http_route, gateway_api.http_route, by_specificity=True
    ),
    "networking.istio.io/VirtualService": Family(
        tables.virtual_service, istio.virtual_service, rounds=False
    ),
    "projectcontour.io/HTTPProxy": Family(
        tables.http_proxy, contour.http_proxy, by_specificity=True
    ),
    "traefik.io/IngressRoute": Family(tables.ingress_route, traefik.ingress_route),
    "apisix.apache.org/ApisixRoute": Family(tables.apisix_route, apisix.apisix_route),
    "k8s.nginx.org/VirtualServer": Family(
        tables.virtual_server, nginx.virtual_server, Fraction(1, 100)
    ),
    "k8s.nginx.org/VirtualServerRoute": Family(
        tables.virtual_server_route, nginx.virtual_server_route, Fraction(1, 100)
    ),
    "gateway.solo.io/RouteTable": Family(tables.gloo_routes, gloo.routes),
    "gateway.solo.io/VirtualService": Family(tables.gloo_virtual_service, gloo.virtual_service),
    "kuma.io/MeshHTTPRoute": Family(
        tables.mesh_http_route, kuma.mesh_http_route, by_specificity=True
    ),
    "kuma.io/TrafficRoute": Family(tables.traffic_route, kuma.traffic_route),
    "getambassador.io/Mapping": Family(
        tables.uncontested(tables.mappings), emissary.mappings, change=each_mapping
    ),
    "cilium.io/CiliumEnvoyConfig": Family(tables.envoy_config, cilium.envoy_config),
    "zalando.org/RouteGroup": Family(tables.route_group, skipper.route_group, by_specificity=True),
}
MATCHES = {
    "consul.hashicorp.com/ServiceRouter": Family(tables.service_router, consul.service_router),
}
WEIGHTS = {
    f"{GATEWAY}/TCPRoute": Family(
        tables.only_weights(tables.gateway_layer_four), gateway_api.one_rule
    ),
    f"{GATEWAY}/TLSRoute": Family(
        tables.only_weights(tables.gateway_layer_four), gateway_api.one_rule
    ),
    f"{GATEWAY}/UDPRoute": Family(
        tables.only_weights(tables.gateway_layer_four), gateway_api.one_rule
    ),
    "traefik.io/TraefikService": Family(
        tables.only_weights(tables.traefik_service), traefik.weighted_service
    ),
    "traefik.io/IngressRouteTCP": Family(
        tables.only_weights(tables.traefik_layer_four), traefik.layer_four
    ),
    "traefik.io/IngressRouteUDP": Family(
        tables.only_weights(tables.traefik_layer_four), traefik.layer_four
    ),
    "split.smi-spec.io/TrafficSplit": Family(
        tables.only_weights(tables.traffic_split), weights.traffic_split
    ),
    "gloo.solo.io/UpstreamGroup": Family(
        tables.only_weights(tables.upstream_group), weights.upstream_group
    ),
    "kuma.io/MeshTCPRoute": Family(
        tables.only_weights(tables.mesh_tcp_route), weights.mesh_tcp_route
    ),
    "consul.hashicorp.com/ServiceSplitter": Family(
        tables.only_weights(tables.service_splitter), weights.service_splitter
    ),
    "cis.f5.com/VirtualServer": Family(
        tables.for_all_tenants(tables.cis_virtual_server), f5.virtual_server, Fraction(1, 50)
    ),
    "cis.f5.com/TransportServer": Family(
        tables.only_weights(lambda rule: {"pool": tables.cis_pool(rule)}),
        f5.transport_server,
        Fraction(1, 50),
    ),
    "route.openshift.io/Route": Family(
        tables.only_weights(tables.openshift_route), weights.openshift_route, Fraction(1, 50)
    ),
}
ALL = RULES | WEIGHTS

ROUNDED = Fraction(1, 200)
PREFIXES = ("/", "/api", "/admin")
GROUP, AGENT = "x-user-group", "user-agent"
PROBES = [
    Request(
        path,
        headers={
            **({tables.TENANT: tables.ACME} if tenant else {}),
            **({GROUP: group} if group else {}),
            **({AGENT: "Mozilla (Android 15)"} if android else {}),
            **({"cookie": "lang=en; group=beta"} if cookie else {}),
        },
        query={"preview": "1"} if preview else {},
    )
    for path, tenant, group, android, cookie, preview in itertools.product(
        ("/", "/api", "/api/cart", "/admin", "/apis"),
        (False, True),
        ("", "beta", "beta2"),
        (False, True),
        (False, True),
        (False, True),
    )
]
STEPS: tuple[tuple[str, list[dict[str, Any]]], ...] = (
    ("header", [header(GROUP, "beta")]),
    ("header-regex", [header(AGENT, ".*Android.*", "RegularExpression")]),
    ("query", [query("preview", "1")]),
    ("cookie", [header("canary-by-cookie", "group=beta")]),
    ("query", [header(GROUP, "beta"), query("preview", "1")]),
    (
        "header-regex",
        [
            {
                "headers": [
                    *header(GROUP, "beta")["headers"],
                    *header(AGENT, ".*Android.*", "RegularExpression")["headers"],
                ]
            }
        ],
    ),
)


def is_meant(match: dict[str, Any], request: Request) -> bool:
    """The owner's meaning of a match: all its conditions hold, an expression fits the whole value."""
    for condition in match.get("headers", ()):
        name, value = condition["name"], condition["value"]
        if name == "canary-by-cookie":
            cookie, _, wanted = value.partition("=")
            holds = request.cookies.get(cookie) == wanted
        elif condition["type"] == "Exact":
            holds = request.headers.get(name) == value
        else:
            holds = whole(value, request.headers.get(name))
        if not holds:
            return False
    return all(request.query.get(c["name"]) == c["value"] for c in match.get("queryParams", ()))


BACKENDS = st.one_of(
    st.just(((STABLE, None),)),
    st.just(((ADMIN, None),)),
    st.tuples(st.integers(1, 100), st.integers(1, 100)).map(
        lambda pair: ((STABLE, pair[0]), (LEGACY, pair[1]))
    ),
)


@st.composite
def routing_tables(draw: st.DrawFn) -> Table:
    """Draw up to five rules of different paths and tenants, one of which leads to the stable Service."""
    places = draw(
        st.lists(
            st.tuples(st.sampled_from(PREFIXES), st.booleans()), min_size=1, max_size=5, unique=True
        )
    )
    rules = [Rule(prefix, tenant, draw(BACKENDS)) for prefix, tenant in places]
    if not any(STABLE in dict(rule.backends) for rule in rules):
        rules[0] = Rule(rules[0].prefix, rules[0].tenant, ((STABLE, None),))
    return rules


def without_nothing(shares: Shares) -> Shares:
    return {name: part for name, part in shares.items() if part}


@pytest.mark.parametrize("kind", ALL)
@EXAMPLES
@given(table=routing_tables(), weight=st.integers(0, 100))
async def test_the_new_version_gets_the_steps_share_and_no_other_share_changes(
    script_worker: Worker, kind: str, table: Table, weight: int
) -> None:
    family = ALL[kind]
    original = family.render(table)
    changed = await family.change(script_worker, kind, original, weight)
    for request in PROBES:
        before = family.simulate(original, request)
        after = family.simulate(changed, request)
        stable = before.get(STABLE, Fraction(0))
        asked = stable * weight / 100
        # Alone, the share is exact; beside others, weights are rounded where that changes half a percent at most.
        off = max(family.off, ROUNDED if family.rounds and stable < 1 else Fraction(0))
        assert abs(after.get(CANARY, Fraction(0)) - asked) <= off, request
        others = {name: part for name, part in before.items() if name != STABLE}
        kept = {name: part for name, part in after.items() if name not in (STABLE, CANARY)}
        if family.off:
            assert kept.keys() == others.keys()
            assert all(abs(kept[name] - part) <= family.off for name, part in others.items())
        else:
            assert kept == others, request
        assert sum(after.values()) == sum(before.values())
        # Where the sum is bound, a part of a very small weight may be less than the kind can express.
        assert after.get(CANARY, 0) > 0 or asked <= family.off
        assert asked > 0 or CANARY not in after


def sayable(kind: str) -> list[int]:
    """The numbers of the steps that a kind can express; of every kind most."""
    can = parse_header(script_of(kind).read_text()).can or ()
    numbers = [number for number, (word, _) in enumerate(STEPS) if word in can]
    assert len(numbers) >= len(STEPS) - 2
    return numbers


@pytest.mark.parametrize(
    ("kind", "number"), [(kind, number) for kind in RULES | MATCHES for number in sayable(kind)]
)
@EXAMPLES
@given(table=routing_tables())
async def test_requests_that_match_go_to_the_canary_and_all_others_where_they_went(
    script_worker: Worker, kind: str, number: int, table: Table
) -> None:
    family, matches = (RULES | MATCHES)[kind], STEPS[number][1]
    original = family.render(table)
    changed, words = None, ""
    try:
        changed = await family.change(script_worker, kind, original, matches=matches)
    except Refused as refused:
        words = str(refused)
    if changed is None:
        assert IN_VAIN in words
        assert not any(
            STABLE in without_nothing(family.simulate(original, request))
            and any(is_meant(match, request) for match in matches)
            for request in PROBES
        )
        return
    for request in PROBES:
        before = without_nothing(family.simulate(original, request))
        after = without_nothing(family.simulate(changed, request))
        meant = STABLE in before and any(is_meant(match, request) for match in matches)
        assert after == ({CANARY: Fraction(1)} if meant else before), request


@pytest.mark.parametrize("kind", [kind for kind, family in RULES.items() if family.by_specificity])
async def test_a_copy_never_outranks_another_services_condition_where_specificity_decides(
    script_worker: Worker, kind: str
) -> None:
    table = [Rule("/", False, ((STABLE, None),)), Rule("/", True, ((ADMIN, None),))]
    step = {"headers": [*header(GROUP, "beta")["headers"], *header(AGENT, "A")["headers"]]}
    original = RULES[kind].render(table)
    changed = await answered(script_worker, kind, original, matches=[step])
    both = {tables.TENANT: tables.ACME, GROUP: "beta", AGENT: "A"}
    assert RULES[kind].simulate(changed, Request(headers=both)) == {ADMIN: Fraction(1)}


async def test_another_services_mapping_with_shorter_headers_loses_requests_that_both_match(
    script_worker: Worker,
) -> None:
    """Emissary orders Mappings by the length of their headers, and a script sees only one Mapping: a documented
    limit."""
    table = [Rule("/", False, ((STABLE, None),)), Rule("/", True, ((ADMIN, None),))]
    original = tables.mappings(table)
    step = [header(GROUP, "a-long-name-of-a-group")]
    changed = await each_mapping(script_worker, "getambassador.io/Mapping", original, matches=step)
    both = Request(headers={tables.TENANT: tables.ACME, GROUP: "a-long-name-of-a-group"})
    assert emissary.mappings(original, both) == {ADMIN: Fraction(1)}
    assert emissary.mappings(changed, both) == {CANARY: Fraction(1)}
