"""The content of an HTTPRoute before the original controller changed it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.decision import Reference
from controller.domain.traffic.original.httproute import computed_original

ROUTE = Reference("gateway.networking.k8s.io/v1", "HTTPRoute", "web", "web", "web-canary")


def ref(name: str, weight: int = 1, **more: object) -> dict[str, object]:
    """A backend."""
    return {"group": "", "kind": "Service", "name": name, "port": 80, "weight": weight, **more}


def route(*rules: Mapping[str, object]) -> bytes:
    """A whole object."""
    body = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "web", "annotations": {"keep": "me"}},
        "spec": {"hostnames": ["shop.example"], "rules": list(rules)},
    }
    return json.dumps(body).encode()


def original_of(*rules: Mapping[str, object]) -> Any:
    """The rules that are worked out; None if nothing is to be done."""
    text = computed_original(route(*rules), ROUTE)
    if text is None:
        return None
    body = json.loads(text)
    assert body["annotations"] == {"keep": "me"}
    assert body["spec"]["hostnames"] == ["shop.example"]
    return body["spec"]["rules"]


def test_a_share_is_taken_out_and_stable_has_all_again() -> None:
    led = {"backendRefs": [ref("web", 80), ref("other", 10), ref("web-canary", 20)]}
    assert original_of(led) == [{"backendRefs": [ref("web"), ref("other", 10)]}]


def test_our_rule_for_matching_requests_is_removed_and_foreign_rules_stay() -> None:
    own = {"matches": [{"path": {"value": "/"}}], "backendRefs": [ref("web")]}
    redirect = {"filters": [{"type": "RequestRedirect"}]}
    made = {"matches": [{"headers": [{"name": "user"}]}], "backendRefs": [ref("web-canary")]}
    assert original_of(own, redirect, made) == [own, redirect]


def test_a_share_without_the_stable_service_is_taken_out() -> None:
    led = {"backendRefs": [ref("other", 3), ref("web-canary", 20), "odd"]}
    assert original_of(led) == [{"backendRefs": [ref("other", 3), "odd"]}]


def test_a_route_that_nobody_leads_is_left_alone() -> None:
    assert original_of({"backendRefs": [ref("web", 7)]}) is None


@pytest.mark.parametrize("raw", [b"[", b"{}", b'{"spec": {"rules": 1}}', b'{"spec": []}'])
def test_an_object_that_is_no_route_is_left_alone(raw: bytes) -> None:
    assert computed_original(raw, ROUTE) is None


def test_other_kinds_and_shared_services_are_left_alone() -> None:
    led = route({"backendRefs": [ref("web", 80), ref("web-canary", 20)]})
    shared = Reference("gateway.networking.k8s.io/v1", "HTTPRoute", "web", "web", "web")
    grpc = Reference("gateway.networking.k8s.io/v1", "GRPCRoute", "web", "web", "web-canary")
    assert computed_original(led, shared) is None
    assert computed_original(led, grpc) is None
