"""A step's path is what it has in common with the rules of the stable Service, whatever these do with their paths.

A request goes to the new version only if it matches the step and was answered by the stable Service; it gets there
under the same path, and the rule that served it before does with it what it did. Every other request is served as
before. A step is refused only if no request would go to the new version by it; most kinds refuse each such step. Drawn
are several rules of the stable Service and of others, by prefix and exact, with rewrites, conditions and weights of 0.
"""

import itertools
import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import Worker
from tests.examples import sampled
from tests.routing import (
    apisix,
    cilium,
    consul,
    contour,
    emissary,
    gateway_api,
    gloo,
    istio,
    kuma,
    path_tables,
    skipper,
    traefik,
)
from tests.routing.model import Judge, Request, Served, below
from tests.routing.path_tables import PathRule, Render, Table
from tests.routing.tables import ACME, ADMIN, CANARY, LEGACY, STABLE, TENANT
from tests.unit.lua_configuration.running import header, path, run

GROUP = "x-user-group"
BETA = header(GROUP, "beta")
STEPS: tuple[list[dict[str, Any]], ...] = (
    [path("/")],
    [path("/api")],
    [path("/api/v2")],
    [path("/api/v2", "Exact")],
    [path("/admin/new")],
    [{**path("/api"), **BETA}],
    [path("/api/v2/x"), BETA],
    [path("/admin", "Exact"), path("/other")],
    [path("/api/v[0-9]/x", "RegularExpression")],
    [BETA],
)
PROBES = [
    Request(
        place,
        headers={**({TENANT: ACME} if tenant else {}), **({GROUP: "beta"} if beta else {})},
    )
    for place, tenant, beta in itertools.product(
        (
            "/",
            "/api",
            "/apis",
            "/api/",
            "/api/v2",
            "/api/v2x",
            "/api/v2/",
            "/api/v2/x",
            "/api/v2/xy",
            "/api/v2/x/y",
            "/api/v1/x",
            "/admin",
            "/admin/",
            "/admin/new",
            "/admin/newer",
            "/admin/new/x",
            "/admins",
            "/other",
            "/other/x",
            "/others",
        ),
        (False, True),
        (False, True),
    )
]


@dataclass(frozen=True)
class Kind:
    """How a kind writes a table, who judges it, and how it compares prefixes."""

    render: Render
    judge: Judge
    letters: bool = True
    """Prefixes are of letters, not of parts."""
    steps_by_parts: bool = False
    """A step's prefix is written so that it is one of parts, whatever the rules have."""
    rewrites: bool = True
    weights: bool = True


KINDS = {
    "gateway.networking.k8s.io/HTTPRoute": Kind(
        path_tables.http_route, gateway_api.served, letters=False
    ),
    "policy.linkerd.io/HTTPRoute": Kind(path_tables.http_route, gateway_api.served, letters=False),
    "kuma.io/MeshHTTPRoute": Kind(path_tables.mesh_http_route, kuma.served, letters=False),
    "projectcontour.io/HTTPProxy": Kind(path_tables.http_proxy, contour.served),
    "networking.istio.io/VirtualService": Kind(path_tables.virtual_service, istio.served),
    "gateway.solo.io/RouteTable": Kind(path_tables.gloo_routes, gloo.served),
    "kuma.io/TrafficRoute": Kind(path_tables.traffic_route, kuma.served_by_tags),
    "consul.hashicorp.com/ServiceRouter": Kind(
        path_tables.service_router, consul.served, weights=False
    ),
    "cilium.io/CiliumEnvoyConfig": Kind(
        path_tables.envoy_config, cilium.served, steps_by_parts=True
    ),
    "apisix.apache.org/ApisixRoute": Kind(
        path_tables.apisix_route, apisix.served, letters=False, rewrites=False
    ),
    "traefik.io/IngressRoute": Kind(
        path_tables.ingress_route, traefik.served, steps_by_parts=True, rewrites=False
    ),
    "zalando.org/RouteGroup": Kind(
        path_tables.route_group, skipper.served, letters=False, rewrites=False
    ),
}
BACKENDS = st.sampled_from(
    (
        ((STABLE, 1),),
        ((STABLE, 1),),
        ((STABLE, 60), (LEGACY, 40)),
        ((STABLE, 0), (LEGACY, 100)),
        ((ADMIN, 1),),
    )
)
PLACES = (
    *(("PathPrefix", place) for place in ("/", "/api", "/api/v2", "/admin")),
    *(("Exact", place) for place in ("/api/v2", "/admin", "/api/v2/x")),
)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Draw up to five rules, the place and the condition of each its own; a rewrite needs a prefix."""
    places = draw(
        st.lists(
            st.tuples(st.sampled_from(PLACES), st.booleans()), min_size=1, max_size=5, unique=True
        )
    )
    rules = []
    for mark, ((sort, place), tenant) in enumerate(places, 1):
        rewrite = draw(st.sampled_from((None, None, "/", "/app"))) if sort != "Exact" else None
        rules.append(PathRule(sort, place, tenant, draw(BACKENDS), rewrite, mark))
    assume(any(STABLE in dict(rule.backends) for rule in rules))
    return rules


def is_meant(match: dict[str, Any], request: Request, *, letters: bool) -> bool:
    """The owner's meaning of a match, with prefixes as the kind compares them."""
    headers = match.get("headers", ())
    if not all(request.headers.get(one["name"]) == one["value"] for one in headers):
        return False
    if "path" not in match:
        return True
    sort, value = match["path"]["type"], match["path"]["value"]
    if sort == "Exact":
        return bool(request.path == value)
    if sort == "RegularExpression":
        return request.path in {f"/api/v{digit}/x" for digit in range(10)}
    return request.path.startswith(value) if letters else below(value, request.path)


UNANSWERED = (
    "serves the path",
    "nothing has a weight above 0",
    "has weight 0",
    "contradict the conditions of every rule",
    "all requests that match this step are those of rules that lead elsewhere",
    "no request of this step would reach the new version",
)
UNSAYABLE = (
    "cannot be told, because one of them is a pattern",
    "that replaces its prefix cannot match a path by type",
)
UNSEEN = {
    "apisix.apache.org/ApisixRoute": "its copies have the step's path as an expression",
    "traefik.io/IngressRoute": "",
    "zalando.org/RouteGroup": "",
}
"""Scripts that carry out some steps in vain: those with a regular expression, which cannot be evaluated in Lua; and for
the reason given, others."""
EXAMPLES = settings(
    max_examples=sampled(8, 20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def is_unseen(name: str, matches: list[dict[str, Any]]) -> bool:
    """A step that no request reaches is carried out, because the script cannot know."""
    by_pattern = any(one.get("path", {}).get("type") == "RegularExpression" for one in matches)
    return name in UNSEEN and (by_pattern or bool(UNSEEN[name]))


def said(kind: Kind, table: Table) -> Table:
    """The table as far as the kind can express it."""
    return [
        replace(
            rule,
            rewrite=rule.rewrite if kind.rewrites else None,
            backends=rule.backends if kind.weights else ((rule.first, 1),),
        )
        for rule in table
    ]


def judged(kind: Kind, spec: dict[str, Any], request: Request) -> Served | None:
    found = kind.judge(spec, request)
    return replace(found, shares={n: p for n, p in found.shares.items() if p}) if found else None


@pytest.mark.parametrize("number", range(len(STEPS)))
@pytest.mark.parametrize("name", KINDS)
@EXAMPLES
@given(table=tables())
async def test_a_path_of_a_step_changes_nothing_but_the_version(
    script_worker: Worker, name: str, number: int, table: Table
) -> None:
    kind, matches = KINDS[name], STEPS[number]
    original = kind.render(said(kind, table))
    before: dict[int, Served | None] = {}
    for at, request in enumerate(PROBES):
        try:
            before[at] = judged(kind, original, request)
        except (skipper.Undefined, apisix.Undefined, traefik.Undefined):
            continue  # It had the request by chance before.
    letters = kind.letters and not kind.steps_by_parts
    meant = {
        at
        for at, found in before.items()
        if found
        and STABLE in found.shares
        and any(is_meant(match, PROBES[at], letters=letters) for match in matches)
    }
    by_chance = any(
        at not in before and any(is_meant(match, request, letters=letters) for match in matches)
        for at, request in enumerate(PROBES)
    )
    answer = await run(script_worker, name, original, matches=matches)
    if answer.code == pb.RUNTIME_ERROR:
        if not any(text in answer.message for text in UNSAYABLE):
            assert any(text in answer.message for text in UNANSWERED), answer.message
            assert not meant, answer.message
        return
    in_vain = not meant and not by_chance
    assert not in_vain or is_unseen(name, matches), "in vain, and the step is carried out"
    changed = json.loads(answer.result_json)["spec"]
    for at, found in before.items():
        expected = replace(found, shares={CANARY: Fraction(1)}) if found and at in meant else found
        assert judged(kind, changed, PROBES[at]) == expected, PROBES[at]


@pytest.mark.parametrize("number", range(len(STEPS)))
@settings(EXAMPLES, max_examples=sampled(8, 20))
@given(table=tables())
async def test_a_path_of_a_step_changes_nothing_of_a_mapping_but_the_version(
    script_worker: Worker, number: int, table: Table
) -> None:
    """A Mapping made beside it; other Mappings are not seen by the script."""
    matches = STEPS[number]
    rule = replace(table[0], backends=((STABLE, 1),))
    original = path_tables.mapping([rule])
    answer = await run(
        script_worker, "getambassador.io/Mapping", original["mappings"][0], matches=matches
    )
    before = [emissary.served(original, request) for request in PROBES]
    meant = [
        found is not None and any(is_meant(match, request, letters=True) for match in matches)
        for found, request in zip(before, PROBES, strict=True)
    ]
    if answer.code == pb.RUNTIME_ERROR:
        assert "cannot be told" in answer.message or not any(meant), answer.message
        return
    assert any(meant), "no request goes to the new version, and the step is carried out"
    made = [one["spec"] for one in json.loads(answer.result_json)["objects"]]
    changed = {"mappings": [*original["mappings"], *made]}
    for request, found, moved in zip(PROBES, before, meant, strict=True):
        expected = replace(found, shares={CANARY: Fraction(1)}) if found and moved else found
        assert emissary.served(changed, request) == expected, request
