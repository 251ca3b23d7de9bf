"""If the most specific rule wins, other Services keep all their requests.

Rules here have conditions of any number and sort, some of them the step's own, so that copies outrank rules that came
before their sources, and guards outrank other guards. One case is not drawn, because these kinds cannot express it: one
header compared in two ways at once, which the scripts refuse.
"""

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import Worker
from tests.examples import sampled
from tests.routing import contour, gateway_api, kuma, skipper
from tests.routing.model import HOST, Request, Simulator
from tests.routing.tables import ADMIN, CANARY, LEGACY, STABLE, Spec
from tests.routing.test_routing import AGENT, GROUP, is_meant, without_nothing
from tests.unit.lua_configuration.running import header, query, run

TENANT, REGION = "x-tenant", "x-region"
Condition = tuple[str, str, str]
"""The compared part (header, header-regex or query), its name, the value."""
CONDITIONS: tuple[Condition, ...] = (
    ("header", TENANT, "acme"),
    ("header", TENANT, "other"),
    ("header", REGION, "eu"),
    ("header", GROUP, "beta"),
    ("header-regex", AGENT, ".*Android.*"),
    ("query", "preview", "1"),
    ("query", "lang", "en"),
)


@dataclass(frozen=True)
class Rule:
    """Requests below a path for which all conditions hold, and the one Service they go to."""

    prefix: str
    conditions: tuple[Condition, ...]
    service: str


Table = Sequence[Rule]
WORDS = {"header": "Exact", "query": "Exact", "header-regex": "RegularExpression"}


def http_route(table: Table) -> Spec:
    """HTTPRoute."""

    def listed(rule: Rule, *sorts: str) -> list[Spec]:
        return [
            {"type": WORDS[sort], "name": name, "value": value}
            for sort, name, value in rule.conditions
            if sort in sorts
        ]

    def match(rule: Rule) -> Spec:
        fields = {
            "headers": listed(rule, "header", "header-regex"),
            "queryParams": listed(rule, "query"),
        }
        annotations_of = {key: found for key, found in fields.items() if found}
        return {"path": {"type": "PathPrefix", "value": rule.prefix}, **annotations_of}

    return {
        "rules": [
            {"matches": [match(rule)], "backendRefs": [{"name": rule.service, "port": 80}]}
            for rule in table
        ]
    }


def grpc_route(table: Table) -> Spec:
    """GRPCRoute: headers only, so what is conditional on a parameter is so on a header of its name."""
    rules = http_route(table)["rules"]
    for rule, annotations_of in zip(rules, table, strict=True):
        (match,) = rule["matches"]
        del match["path"]
        match["headers"] = [*match.get("headers", ()), *match.pop("queryParams", ())]
        if annotations_of.prefix != "/":
            match["method"] = {"service": annotations_of.prefix.strip("/")}
    return {"rules": rules}


def http_proxy(table: Table) -> Spec:
    """Contour HTTPProxy."""
    fields = {
        "header": ("header", "exact"),
        "header-regex": ("header", "regex"),
        "query": ("queryParameter", "exact"),
    }
    return {
        "virtualhost": {"fqdn": HOST},
        "routes": [
            {
                "conditions": [
                    {"prefix": rule.prefix},
                    *(
                        {fields[sort][0]: {"name": name, fields[sort][1]: value}}
                        for sort, name, value in rule.conditions
                    ),
                ],
                "services": [{"name": rule.service, "port": 80}],
            }
            for rule in table
        ],
    }


def mesh_http_route(table: Table) -> Spec:
    """Kuma MeshHTTPRoute: one list, about the stable Service."""
    rules = [
        {
            "matches": rule["matches"],
            "default": {
                "backendRefs": [{"kind": "MeshService", **ref} for ref in rule["backendRefs"]]
            },
        }
        for rule in http_route(table)["rules"]
    ]
    return {"to": [{"targetRef": {"kind": "MeshService", "name": STABLE}, "rules": rules}]}


def route_group(table: Table) -> Spec:
    """Skipper RouteGroup: predicates hold together."""
    calls = {
        "header": 'Header("{}", "{}")',
        "header-regex": 'HeaderRegexp("{}", "{}")',
        "query": 'QueryParam("{}", "^{}$")',
    }
    return {
        "backends": [
            {"name": name, "type": "service", "serviceName": name, "servicePort": 80}
            for name in (STABLE, LEGACY, ADMIN)
        ],
        "routes": [
            {
                "pathSubtree": rule.prefix,
                "predicates": [calls[sort].format(name, v) for sort, name, v in rule.conditions],
                "backends": [{"backendName": rule.service}],
            }
            for rule in table
        ],
    }


GRPC = "gateway.networking.k8s.io/GRPCRoute"
KINDS: dict[str, tuple[Callable[[Table], Spec], Simulator]] = {
    "gateway.networking.k8s.io/HTTPRoute": (http_route, gateway_api.http_route),
    GRPC: (grpc_route, gateway_api.grpc_route),
    "policy.linkerd.io/HTTPRoute": (http_route, gateway_api.http_route),
    "projectcontour.io/HTTPProxy": (http_proxy, contour.http_proxy),
    "kuma.io/MeshHTTPRoute": (mesh_http_route, kuma.mesh_http_route),
    "zalando.org/RouteGroup": (route_group, skipper.route_group),
}
PROBES = [
    Request(
        place,
        headers={
            **({TENANT: tenant} if tenant else {}),
            **({REGION: "eu"} if region else {}),
            **({GROUP: "beta"} if group else {}),
            **({AGENT: "Mozilla (Android 15)"} if android else {}),
            **({"preview": "1"} if preview else {}),
            **({"lang": "en"} if lang else {}),
        },
        query={**({"preview": "1"} if preview else {}), **({"lang": "en"} if lang else {})},
    )
    for place, tenant, region, group, android, preview, lang in itertools.product(
        ("/", "/api/cart"), ("", "acme", "other"), *((False, True),) * 5
    )
]
BETA = header(GROUP, "beta")["headers"]
ANDROID = header(AGENT, ".*Android.*", "RegularExpression")["headers"]
STEPS: tuple[list[dict[str, Any]], ...] = (
    [{"headers": BETA}],
    [{"headers": [*BETA, *ANDROID]}],
    [query("preview", "1")],
    [{"headers": BETA}, query("preview", "1")],
    [{"headers": [*BETA, *ANDROID], **query("preview", "1")}],
)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Draw up to five rules; no two of one path have the same conditions, and one leads to the stable Service."""
    subsets = st.sets(st.sampled_from(CONDITIONS), max_size=3).filter(
        lambda found: not {("header", TENANT, "acme"), ("header", TENANT, "other")} <= found
    )
    places = draw(
        st.lists(
            st.tuples(st.sampled_from(("/", "/api")), subsets.map(lambda s: tuple(sorted(s)))),
            min_size=2,
            max_size=5,
            unique=True,
        )
    )
    services = draw(
        st.lists(
            st.sampled_from((STABLE, STABLE, ADMIN, LEGACY)),
            min_size=len(places),
            max_size=len(places),
        )
    )
    assume(STABLE in services)
    return [Rule(*place, service) for place, service in zip(places, services, strict=True)]


REFUSALS = (
    "all requests that match this step are those of rules that lead elsewhere than to Service web",
    "the matches of this step contradict the conditions of every rule",
    "a route has the conditions of this step already",
    "a rule has the matches of this step already",
    "a rule would have",
)


CASES = [
    pytest.param(kind, matches, id=f"{kind}-{number}")
    for kind in KINDS
    for number, matches in enumerate(STEPS)
    if kind != GRPC or not any("queryParams" in match for match in matches)
]


@pytest.mark.parametrize(("kind", "matches"), CASES)
@settings(
    max_examples=sampled(12, 60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(table=tables())
async def test_only_requests_of_the_stable_service_change_their_target(
    script_worker: Worker, kind: str, matches: list[dict[str, Any]], table: Table
) -> None:
    render, simulate = KINDS[kind]
    original = render(table)
    answer = await run(script_worker, kind, original, matches=matches)
    if answer.code == pb.RUNTIME_ERROR:
        assert any(text in answer.message for text in REFUSALS), answer.message
        return
    changed = json.loads(answer.result_json)["spec"]
    for request in PROBES:
        try:
            before = without_nothing(simulate(original, request))
        except skipper.Undefined:
            continue  # It had the request by chance before.
        meant = STABLE in before and any(is_meant(match, request) for match in matches)
        after = without_nothing(simulate(changed, request))
        assert after == ({CANARY: Fraction(1)} if meant else before), request
