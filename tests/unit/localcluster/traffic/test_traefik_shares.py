"""Traefik's reported configuration, as shares of Services."""

from typing import Any

from localcluster.traffic.traefik_shares import UNKNOWN, Endpoints, Reading, endpoints_of

HOST = "shop.r1.example"
OLD, OLD_ON_ITS_WAY_OUT, NEW, OTHER = "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"
ENDPOINTS = {
    "shop": Endpoints(frozenset({OLD}), frozenset({OLD, OLD_ON_ITS_WAY_OUT})),
    "shop-canary": Endpoints(frozenset({NEW}), frozenset({NEW})),
    "other": Endpoints(frozenset({OTHER}), frozenset({OTHER})),
}


def router(service: str, rule: str = f"Host(`{HOST}`)", status: str = "enabled") -> dict[str, str]:
    return {"rule": rule, "service": service, "status": status}


def weighted(**weights: int) -> dict[str, Any]:
    services = [{"name": n.replace("_", "-"), "weight": weight} for n, weight in weights.items()]
    return {"weighted": {"services": services}}


def pods(*addresses: str) -> dict[str, Any]:
    return {"loadBalancer": {"servers": [{"url": f"http://{one}:9090"} for one in addresses]}}


LEAVES = {
    f"r1-{name}@{provider}": pods(address)
    for provider, protocol in (("kubernetesgateway", "-http"), ("kubernetescrd", ""))
    for name, address in (
        (f"shop{protocol}-80", OLD),
        (f"shop-canary{protocol}-80", NEW),
        (f"other{protocol}-80", OTHER),
    )
}


def shares(routers: dict[str, Any], services: dict[str, Any]) -> set[tuple[Any, ...]]:
    configuration = {"routers": routers, "services": {**LEAVES, **services}}
    return set(Reading(configuration, "r1", ENDPOINTS).shares(HOST))


def test_weights_of_a_gateways_route_are_shares_of_its_services() -> None:
    rule = f'Host("{HOST}") && PathPrefix("/")'
    found = shares(
        {"a@kubernetesgateway": router("a-wrr", rule)},
        {"a-wrr@kubernetesgateway": weighted(r1_shop_http_80=80, r1_shop_canary_http_80=20)},
    )
    assert found == {(("shop", 0.8), ("shop-canary", 0.2))}


def test_a_service_without_a_weight_is_left_out() -> None:
    found = shares(
        {"a@kubernetescrd": router("a-wrr")},
        {"a-wrr@kubernetescrd": weighted(r1_shop_80=0, r1_shop_canary_80=100)},
    )
    assert found == {(("shop-canary", 1.0),)}


def test_a_list_that_a_route_names_is_looked_into() -> None:
    found = shares(
        {"a@kubernetescrd": router("outer")},
        {
            "outer@kubernetescrd": weighted(inner=1, r1_other_80=1),
            "inner@kubernetescrd": weighted(r1_shop_80=1, r1_shop_canary_80=1),
        },
    )
    assert found == {(("other", 0.5), ("shop", 0.25), ("shop-canary", 0.25))}


def test_the_only_service_of_an_ingress_route_is_known_by_its_pods() -> None:
    found = shares(
        {
            "r1-shop-0a1b@kubernetescrd": router("r1-shop-0a1b"),
            "r1-shop-2c3d@kubernetescrd": router("r1-shop-2c3d", f"Host(`{HOST}`) && Header(`a`)"),
        },
        {
            "r1-shop-0a1b@kubernetescrd": pods(OLD, OLD_ON_ITS_WAY_OUT),
            "r1-shop-2c3d@kubernetescrd": pods(NEW),
        },
    )
    assert found == {(("shop", 1.0),), (("shop-canary", 1.0),)}


def test_pods_that_are_no_services_are_not_guessed() -> None:
    only = {"r1-shop-0a1b@kubernetescrd": pods("10.0.0.9")}
    found = shares({"r1-shop-0a1b@kubernetescrd": router("r1-shop-0a1b")}, only)
    assert found == {((UNKNOWN, 1.0),)}


def test_a_service_whose_pods_are_not_known_yet_is_not_there() -> None:
    routers = {"a@kubernetescrd": router("a-wrr")}
    early = {"a-wrr@kubernetescrd": weighted(r1_shop_80=1), "r1-shop-80@kubernetescrd": pods()}
    assert shares(routers, early) == {((UNKNOWN, 1.0),)}


def test_a_host_that_is_unknown_or_has_a_router_at_fault_has_no_shares() -> None:
    services = {"a@kubernetescrd": weighted(r1_shop_80=1)}
    assert shares({"a@kubernetescrd": router("a", "Host(`other.example`)")}, services) == set()
    assert shares({"a@kubernetescrd": router("a", status="disabled")}, services) == set()
    assert shares({}, {}) == set()


def test_pods_on_their_way_out_answer_and_are_not_ready() -> None:
    def endpoint(address: str, ready: bool) -> dict[str, Any]:
        return {"addresses": [address], "conditions": {"ready": ready, "serving": True}}

    pair = [endpoint(OLD, True), endpoint(OLD_ON_ITS_WAY_OUT, False)]
    labels = {"kubernetes.io/service-name": "shop"}
    found = endpoints_of([{"metadata": {"labels": labels}, "endpoints": pair}])
    assert found == {"shop": ENDPOINTS["shop"]}
    assert endpoints_of([{"metadata": {"labels": labels}, "endpoints": None}]) == {
        "shop": Endpoints(frozenset(), frozenset())
    }
