"""Simulators of gateways give the answers that the vendors' documents give.

A simulator that is written to please a script proves nothing: each has examples here that no script made, from the
document that its docstring names.
"""

from fractions import Fraction
from typing import Any

import pytest

from tests.routing import cilium, emissary, f5, istio, kuma
from tests.routing.model import Request, Shares, Simulator, Tree

Answer = tuple[Simulator, Tree, Request, Shares]


def shares(**parts: int) -> Shares:
    """Shares in percent; a dash in a name is an underscore."""
    return {name.replace("_", "-"): Fraction(part, 100) for name, part in parts.items()}


def mappings(*specs: dict[str, Any]) -> Tree:
    return {"mappings": [{"hostname": "*", **spec} for spec in specs]}


def at(path: str, query: str = "", **headers: str) -> Request:
    pairs = (pair.split("=") for pair in query.split("&") if pair)
    return Request(
        path,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        query={pair[0]: pair[1] for pair in pairs},
        host="*",
    )


CANARY = mappings(
    {"prefix": "/backend-api/", "service": "quote"},
    {"prefix": "/backend-api/", "service": "quotev2", "weight": 10},
)
ORDER = mappings(
    {"prefix": "/", "service": "all"},
    {"prefix": "/", "service": "short", "headers": {"a": "1"}},
    {"prefix": "/", "service": "long", "headers": {"x-long-name": "value"}},
    {"prefix": "/", "service": "parameter", "query_parameters": {"a-very-long-name": "value"}},
    {"prefix": "/deep", "service": "deep"},
    {"prefix": "/first", "service": "first", "precedence": 1},
    {"prefix": "/first/and/longer", "service": "longer"},
)
QOTM = mappings({"prefix": "/(v1|v2)/qotm/.*", "prefix_regex": True, "service": "qotm"})
EMISSARY: list[Answer] = [
    (emissary.mappings, CANARY, at("/backend-api/"), shares(quote=90, quotev2=10)),
    (emissary.mappings, ORDER, at("/other"), shares(all=100)),
    (emissary.mappings, ORDER, at("/deepest", x_long_name="value"), shares(deep=100)),
    (emissary.mappings, ORDER, at("/", a="1"), shares(short=100)),
    (emissary.mappings, ORDER, at("/", a="1", x_long_name="value"), shares(long=100)),
    (emissary.mappings, ORDER, at("/", "a-very-long-name=value", a="1"), shares(short=100)),
    (emissary.mappings, ORDER, at("/", "a-very-long-name=value"), shares(parameter=100)),
    (emissary.mappings, ORDER, at("/first/and/longer"), shares(first=100)),
    (emissary.mappings, QOTM, at("/v2/qotm/quote"), shares(qotm=100)),
    (emissary.mappings, QOTM, at("/v3/qotm/quote"), {}),
]


def tags(service: str) -> Tree:
    return {"kuma.io/service": f"{service}_default_svc_80"}


API_SPLIT = {
    "conf": {
        "http": [
            {
                "match": {"path": {"prefix": "/api"}},
                "split": [
                    {"weight": 90, "destination": tags("backend")},
                    {"weight": 10, "destination": tags("backend-next")},
                ],
            }
        ],
        "destination": tags("backend"),
    }
}
REROUTE = {
    "conf": {
        "http": [
            {"match": {"path": {"prefix": "/offers"}}, "destination": tags("offers")},
            {"match": {"method": {"regex": "^POST|PUT$"}}, "destination": tags("writer")},
            {"match": {"headers": {"some-header": {"prefix": "some-"}}}, "destination": tags("x")},
        ],
        "split": [
            {"weight": 1, "destination": tags("backend")},
            {"weight": 0, "destination": tags("ignored")},
        ],
    }
}
KUMA: list[Answer] = [
    (kuma.traffic_route, API_SPLIT, at("/api/v1"), shares(backend=90, backend_next=10)),
    (kuma.traffic_route, API_SPLIT, at("/"), shares(backend=100)),
    (kuma.traffic_route, REROUTE, at("/offers/1", some_header="some-value"), shares(offers=100)),
    (kuma.traffic_route, REROUTE, Request("/", "PUT"), shares(writer=100)),
    (kuma.traffic_route, REROUTE, at("/", some_header="some-value"), shares(x=100)),
    (kuma.traffic_route, REROUTE, at("/"), shares(backend=100)),
]
AB_POOL = {
    "service": "pytest-svc-1",
    "weight": 20,
    "alternateBackends": [{"service": "svc-1-external-service", "weight": 20}],
}
POOLS = {
    "host": "cafe.example.com",
    "defaultPool": {"service": "default"},
    "pools": [{"path": "/tea", "service": "tea"}, {"path": "/tea/mint", "service": "mint"}],
}
F5: list[Answer] = [
    (
        f5.transport_server,
        {"pool": AB_POOL},
        at("/"),
        shares(pytest_svc_1=50, svc_1_external_service=50),
    ),
    (f5.virtual_server, POOLS, Request("/tea/mint/1", host="cafe.example.com"), shares(mint=100)),
    (f5.virtual_server, POOLS, Request("/teapot", host="cafe.example.com"), shares(default=100)),
    (f5.virtual_server, POOLS, Request("/tea", host="other.example.com"), {}),
]


def envoy(*routes: Tree, total: int | None = None) -> Tree:
    weighted: dict[str, Any] = {
        "clusters": [{"name": "demo/a", "weight": 30}, {"name": "demo/b", "weight": 10}]
    }
    if total is not None:
        weighted["total_weight"] = total
    last = {"match": {"prefix": "/"}, "route": {"weighted_clusters": weighted}}
    return {
        "services": [{"name": "a", "namespace": "demo"}],
        "backendServices": [{"name": name, "namespace": "demo"} for name in ("b", "c")],
        "resources": [
            {
                "@type": cilium.ROUTES,
                "virtual_hosts": [{"domains": ["*"], "routes": [*routes, last]}],
            },
            *({"@type": cilium.CLUSTER, "name": f"demo/{name}"} for name in ("a", "b", "c")),
        ],
    }


def to_c(cluster: str = "demo/c", **match: Any) -> Tree:
    return {"match": match, "route": {"cluster": cluster}}


def exactly(name: str, value: str) -> Tree:
    return {"name": name, "string_match": {"exact": value}}


REST = shares(a=75, b=25)
BIT = envoy(to_c(safe_regex={"regex": "/b[io]t"}))
PARTS = envoy(to_c(path_separated_prefix="/api"))
LETTERS = envoy(to_c(prefix="/api"))
GET = envoy(to_c(prefix="/", headers=[exactly(":method", "POST")]))
NOT = envoy(to_c(prefix="/", headers=[{**exactly("x", "1"), "invert_match": True}]))
PREVIEW = envoy(to_c(prefix="/", query_parameters=[exactly("preview", "1")]))
UNKNOWN = envoy(to_c("demo/d", prefix="/"))
CILIUM: list[Answer] = [
    (cilium.envoy_config, BIT, at("/bot"), shares(c=100)),
    (cilium.envoy_config, BIT, at("/bite"), REST),
    (cilium.envoy_config, PARTS, at("/api/x"), shares(c=100)),
    (cilium.envoy_config, PARTS, at("/apiary"), REST),
    (cilium.envoy_config, LETTERS, at("/apiary"), shares(c=100)),
    (cilium.envoy_config, GET, Request("/", "POST"), shares(c=100)),
    (cilium.envoy_config, GET, at("/"), REST),
    (cilium.envoy_config, NOT, at("/", x="1"), REST),
    (cilium.envoy_config, NOT, at("/"), shares(c=100)),
    (cilium.envoy_config, PREVIEW, at("/", "preview=1"), shares(c=100)),
    (cilium.envoy_config, UNKNOWN, at("/"), {cilium.NOBODY: Fraction(1)}),
    (cilium.envoy_config, envoy(total=40), at("/"), REST),
]
ANSWERS = [*EMISSARY, *KUMA, *F5, *CILIUM]


@pytest.mark.parametrize(("simulate", "spec", "request_", "expected"), ANSWERS)
def test_the_simulator_answers_as_the_vendors_document_does(
    simulate: Simulator, spec: Tree, request_: Request, expected: Shares
) -> None:
    assert simulate(spec, request_) == expected


def test_a_group_of_mappings_with_more_than_100_percent_is_refused() -> None:
    one = {"prefix": "/", "service": "a", "weight": 60}
    with pytest.raises(AssertionError):
        emissary.mappings(mappings(one, {**one, "service": "b"}), at("/"))


def test_a_total_weight_that_is_not_the_sum_is_refused() -> None:
    with pytest.raises(AssertionError):
        cilium.envoy_config(envoy(total=100), at("/"))


REVIEWS = {
    "http": [
        {
            "match": [{"headers": {"end-user": {"exact": "jason"}}}],
            "route": [{"destination": {"host": "reviews", "subset": "v2"}}],
        },
        {
            "route": [
                {"destination": {"host": "reviews", "subset": "v1"}, "weight": 50},
                {"destination": {"host": "reviews", "subset": "v3"}, "weight": 50},
            ]
        },
    ]
}
SUBSETS = {
    "host": "reviews",
    "subsets": [{"name": name, "labels": {"version": name}} for name in ("v1", "v2")],
}
VERSIONS = {"reviews": {name: {"app": "reviews", "version": name} for name in ("v1", "v2", "v3")}}


def test_bookinfos_reviews_are_those_of_the_subset() -> None:
    jason = istio.by_revision(REVIEWS, SUBSETS, VERSIONS, Request(headers={"end-user": "jason"}))
    assert jason == shares(v2=100)


def test_a_subset_that_no_rule_has_is_answered_by_nobody() -> None:
    everybody = istio.by_revision(REVIEWS, SUBSETS, VERSIONS, Request())
    assert everybody == {"v1": Fraction(1, 2), istio.NOBODY: Fraction(1, 2)}


def test_a_destination_without_subset_has_all_pods() -> None:
    spec = {"http": [{"route": [{"destination": {"host": "reviews"}}]}]}
    found = istio.by_revision(spec, SUBSETS, VERSIONS, Request())
    assert found == dict.fromkeys(("v1", "v2", "v3"), Fraction(1, 3))
