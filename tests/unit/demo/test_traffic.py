"""The checks of a release under traffic, and their comparison with the gateway's behaviour."""

from typing import Any

import pytest

from demo.traffic import application
from demo.traffic.lab import shares_of_route
from demo.traffic.report import LostRequest, Report, ShareSeen, complaints
from demo.traffic.scenarios import MARKED, PLAIN, SCENARIOS, Step, named
from localcluster.traffic.contour import shares_in_envoy
from localcluster.traffic.istio import filled_clusters
from localcluster.traffic.istio import shares_in_envoy as shares_in_istio
from localcluster.traffic.vendors import Vendor


def report(*shares: ShareSeen, failed: int = 0, lost: tuple[LostRequest, ...] = ()) -> Report:
    return Report("canary", 10_000, failed, shares, lost, 1.0)


def seen(answered: int, expected: float = 0.2, requests: int = 10_000) -> ShareSeen:
    return ShareSeen("step 1", PLAIN, "shop:v2", expected, requests, answered)


@pytest.mark.parametrize(
    "good", [seen(2000), seen(2170), seen(1830), seen(0, 0.0), seen(10_000, 1.0)]
)
def test_a_share_within_four_and_a_half_deviations_is_right(good: ShareSeen) -> None:
    assert complaints(report(good), 100) == []


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        pytest.param(report(seen(2190)), "21.90%", id="too much"),
        pytest.param(report(seen(1, 0.0)), "0.01%", id="one where there must be none"),
        pytest.param(report(seen(9_999, 1.0)), "99.99%", id="all but one"),
        pytest.param(report(seen(2, requests=10)), "only 10", id="too few to tell"),
        pytest.param(
            report(lost=(LostRequest(1.0, "step 1", PLAIN, "503"),), failed=1), "503", id="lost"
        ),
        pytest.param(report(failed=60), "60 requests", id="many lost"),
        pytest.param(
            Report("canary", 1, 0, (), (), 1.0, "step 1: not ready"), "not ready", id="no end"
        ),
    ],
)
def test_a_wrong_result_is_reported(bad: Report, text: str) -> None:
    assert any(text in line for line in complaints(bad, 100))


def test_a_step_of_marked_requests_leaves_the_others_alone() -> None:
    assert Step(1, marked=True).shares() == {PLAIN: 0.0, MARKED: 1.0}
    assert Step(1, 30).shares() == {PLAIN: 0.3, MARKED: 0.3}


def envoy(host: str, *actions: dict[str, Any]) -> list[dict[str, Any]]:
    routes = [{"match": {"prefix": "/"}, "route": action} for action in actions]
    return [{"virtual_hosts": [{"domains": [host, f"{host}:*"], "routes": routes}]}]


def weighted(**weights: int) -> dict[str, Any]:
    clusters = [
        {"name": f"r1/{name.replace('_', '-')}/80/da39a3ee5e", "weight": weight}
        for name, weight in weights.items()
    ]
    return {"weighted_clusters": {"clusters": clusters}}


@pytest.mark.parametrize("kind", ["canary", "proxy"])
def test_a_route_and_envoys_configuration_of_it_have_the_same_shares(kind: str) -> None:
    host = "shop.example"
    route = application.objects(named(kind), host)[2]
    alone = envoy(host, {"cluster": "r1/shop/80/da39a3ee5e"})
    assert shares_of_route(route) == shares_in_envoy(alone, host)
    spec = route["spec"]
    rule = spec.get("rules", spec.get("routes"))[0]
    backends = rule.get("backendRefs", rule.get("services"))
    backends[:] = [
        {"name": "shop", "port": 80, "weight": 80},
        {"name": "shop-canary", "port": 80, "weight": 20},
        {"name": "idle", "port": 80, "weight": 0},
    ]
    divided = envoy(host, weighted(shop=4, shop_canary=1))
    assert shares_of_route(route) == shares_in_envoy(divided, host)
    assert shares_of_route(route) != shares_in_envoy(alone, host)
    assert shares_in_envoy(divided, "other.example") == frozenset()


def istio(host: str, action: dict[str, Any], *filled: str) -> dict[str, Any]:
    virtual_host = {"domains": [host], "routes": [{"route": action}]}
    endpoints = [
        {
            "endpoint_config": {
                "cluster_name": f"outbound|80|{name}",
                "endpoints": [{"lb_endpoints": [{}]}],
            }
        }
        for name in filled
    ]
    routes = [{"route_config": {"virtual_hosts": [virtual_host]}}]
    return {"configs": [{"dynamic_route_configs": routes}, {"dynamic_endpoint_configs": endpoints}]}


def test_a_virtual_service_and_envoys_configuration_of_it_have_the_same_shares() -> None:
    host = "shop.example"
    scenario = named("subset", Vendor.ISTIO)
    route = application.objects(scenario, host)[2]
    stable, canary = "version-base|shop.r1.svc.cluster.local", "canary|shop.r1.svc.cluster.local"
    alone = istio(host, {"cluster": f"outbound|80|{stable}"})
    assert shares_of_route(route) == shares_in_istio(alone, host)
    route["spec"]["http"][0]["route"] = [
        {"destination": {"host": "shop", "subset": "version-base"}, "weight": 80},
        {"destination": {"host": "shop", "subset": "canary"}, "weight": 20},
        {"destination": {"host": "idle"}, "weight": 0},
    ]
    clusters = [
        {"name": f"outbound|80|{stable}", "weight": 4},
        {"name": f"outbound|80|{canary}", "weight": 1},
    ]
    divided = istio(host, {"weighted_clusters": {"clusters": clusters}}, stable)
    assert shares_of_route(route) == shares_in_istio(divided, host)
    assert shares_of_route(route) != shares_in_istio(alone, host)
    assert shares_in_istio(divided, "other.example") == frozenset()
    assert filled_clusters(divided, "r1") == {"shop/version-base"}
    assert filled_clusters(divided, "r2") == set()


@pytest.mark.parametrize("vendor", Vendor)
def test_every_scenario_has_a_name_of_its_own_and_all_its_objects(vendor: Vendor) -> None:
    scenarios = SCENARIOS[vendor]
    assert len({scenario.name for scenario in scenarios}) == len(scenarios)
    for scenario in scenarios:
        kinds = [body["kind"] for body in application.objects(scenario, "shop.example")]
        assert {"Deployment", "Service", scenario.kind} <= set(kinds)
        (plan,) = application.rollout(scenario)["spec"]["strategy"].values()
        assert len(plan["steps"]) == len(scenario.steps)


def test_a_scenario_with_a_trafficrouting_names_it_and_leads_nothing_itself() -> None:
    scenario = named("lane", Vendor.ISTIO)
    (plan,) = application.rollout(scenario)["spec"]["strategy"].values()
    assert plan["trafficRoutingRef"] == application.traffic_routing(scenario)["metadata"]["name"]
    assert "trafficRoutings" not in plan
    assert all("traffic" not in step for step in plan["steps"])
    kinds = [
        ref["kind"]
        for entry in application.traffic_routing(scenario)["spec"]["objectRef"]
        for ref in entry["customNetworkRefs"]
    ]
    assert kinds == ["VirtualService", "DestinationRule"]
