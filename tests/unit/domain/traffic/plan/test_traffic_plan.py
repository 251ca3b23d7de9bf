from typing import Any

import msgspec
import pytest

from controller.api.rollout import (
    GatewayRef,
    HeaderModifier,
    HttpRouteMatch,
    IngressRef,
    NameValue,
    NetworkRef,
    PatchMetadata,
    ScriptRef,
    Step,
    TrafficRoutingRef,
)
from controller.domain.decision import OwnScript
from controller.domain.traffic.plan.traffic_plan import (
    ServicePair,
    all_to_new,
    announcement,
    references_of,
    route_plan,
    services_of,
    share_of,
)

VS = NetworkRef(
    api_version="networking.istio.io/v1",
    kind="VirtualService",
    name="web",
    params={"b": msgspec.Raw(b"1"), "a": msgspec.Raw(b"[2]")},
)
FULL = TrafficRoutingRef(
    service="web",
    custom_network_refs=(VS,),
    ingress=IngressRef(name="in", script="configMap"),
    gateway=GatewayRef(http_route_name="route", script="packaged"),
)


def test_every_way_to_name_a_gateway_becomes_a_reference() -> None:
    custom, ingress, route = references_of((FULL,), False)
    assert str(custom) == "VirtualService/web"
    assert (custom.stable_service, custom.canary_service) == ("web", "web-canary")
    assert bytes(custom.params) == b'{"a":[2],"b":1}'
    assert (ingress.api_version, ingress.class_type, ingress.script) == (
        "networking.k8s.io/v1",
        "nginx",
        "configMap",
    )
    assert (route.api_version, route.kind, route.name, route.script, route.class_type) == (
        "gateway.networking.k8s.io/v1",
        "HTTPRoute",
        "route",
        "packaged",
        "",
    )


def test_incomplete_entries_name_nothing() -> None:
    entry = TrafficRoutingRef(service="web", ingress=IngressRef(), gateway=GatewayRef())
    assert references_of((entry, TrafficRoutingRef(service="web")), False) == ()


def test_all_entries_count_and_equal_references_count_once() -> None:
    other = TrafficRoutingRef(service="api", custom_network_refs=(VS,))
    found = references_of((FULL, FULL, other), True)
    assert [(str(r), r.stable_service) for r in found] == [
        ("VirtualService/web", "web"),
        ("Ingress/in", "web"),
        ("HTTPRoute/route", "web"),
        ("VirtualService/web", "api"),
    ]
    assert all(reference.shared for reference in found)


def test_services_come_in_pairs_each_once() -> None:
    other = TrafficRoutingRef(service="api")
    assert services_of((FULL, other, FULL), False) == (
        ServicePair("web", "web-canary"),
        ServicePair("api", "api-canary"),
    )
    assert services_of((FULL,), True) == (ServicePair("web", "web"),)


@pytest.mark.parametrize(
    ("traffic", "share"),
    [
        ("20%", 20.0),
        ("0%", 0.0),
        ("100%", 100.0),
        ("0.5%", 0.5),
        ("101%", None),
        ("20", None),
        ("-1%", None),
        ("٢%", None),
        ("", None),
        (None, None),
    ],
)
def test_a_share_is_a_percentage(traffic: str | None, share: float | None) -> None:
    assert share_of(traffic) == share


def plan(**changes: Any) -> Any:
    given: dict[str, Any] = {
        "namespace": "demo",
        "rollout": "web",
        "release": "r1",
        "references": references_of((FULL,), False),
        "step": Step(traffic="20%"),
    }
    return route_plan(**(given | changes))


def test_equal_plans_have_equal_identities() -> None:
    assert plan() == plan(pod_metadata=PatchMetadata())
    assert plan().weight == 20.0


@pytest.mark.parametrize(
    "changes",
    [
        {"release": "r2"},
        {"references": ()},
        {"step": Step(traffic="21%")},
        {"step": Step(traffic="20%", matches=(HttpRouteMatch(method="GET"),))},
        {
            "step": Step(
                traffic="20%", request_header_modifier=HeaderModifier(set=(NameValue("a"),))
            )
        },
        {"pod_metadata": PatchMetadata(labels={"a": "b"})},
        {"left_out": references_of((FULL,), False)[:1]},
    ],
)
def test_every_input_of_scripts_changes_the_identity(changes: dict[str, Any]) -> None:
    assert plan(**changes).identity != plan().identity


def test_everything_can_be_sent_to_the_new_revision() -> None:
    matched = plan(step=Step(matches=(HttpRouteMatch(method="GET"),)))
    switched = all_to_new(matched)
    assert (matched.weight, switched.weight, switched.matches) == (None, 100.0, ())
    assert switched == all_to_new(plan())


def test_objects_left_out_of_a_step_are_named_and_switched_with_the_others() -> None:
    some = plan(left_out=references_of((FULL,), False)[:1])
    assert announcement(some) == announcement(plan())
    assert all_to_new(some) == all_to_new(plan())


def test_a_script_of_the_namespace_is_identified_by_its_place_and_changes_the_plan() -> None:
    reference = NetworkRef("a.io/v1", "Lane", "web", script_ref=ScriptRef("scripts", "k", "router"))
    entry = TrafficRoutingRef(service="web", custom_network_refs=(reference,))
    (found,) = references_of((entry,), False, "shop")
    own = found.own_script
    assert own is not None
    assert own == OwnScript("shop", "scripts", "router", "k")
    assert str(own.account_key) == "shop/router"
    assert str(own.config_map_key) == "shop/scripts"
    plain = msgspec.structs.replace(found, own_script=None)
    identities = {plan(references=(one,)).identity for one in (found, plain)}
    assert len(identities) == 2
