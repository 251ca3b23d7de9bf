"""An author hears of routes to a Service that the Rollout does not name."""

from typing import Any

import pytest

from controller.api.jsontree import JsonObject
from controller.api.names import COMPANION
from controller.domain.admission.named import Named
from controller.domain.admission.other_routes import CANARY, other_routes, words_of_neighbours

PLACE = "spec.strategy.canary.trafficRoutings[0]"
INGRESS = "networking.k8s.io/v1"
ROUTES = "gateway.networking.k8s.io/v1"
MESH = "networking.istio.io/v1"


def an_ingress(name: str = "web", class_type: str = "nginx") -> Named:
    return Named(
        f"{PLACE}.ingress.name", INGRESS, "Ingress", name, service="web", class_type=class_type
    )


def of_ingress(name: str, service: str = "web", **metadata: Any) -> JsonObject:
    path = {"path": "/", "backend": {"service": {"name": service, "port": {"number": 80}}}}
    rules = [{"host": "web", "http": {"paths": [path]}}]
    return {"metadata": {"name": name, **metadata}, "spec": {"rules": rules}}


def told(one: Named, *others: JsonObject) -> tuple[str, ...]:
    return other_routes((one,), {one: others}, "shop")


def test_another_ingress_of_class_nginx_is_divided_too() -> None:
    (text,) = told(an_ingress(), of_ingress("web"), of_ingress("edge"))
    assert text.startswith(f"{PLACE}.ingress.name: Ingress shop/edge leads to Service web, too")
    assert "ingress-nginx divides its requests, too" in text


def test_of_another_class_it_keeps_its_requests() -> None:
    (text,) = told(an_ingress(class_type="alb"), of_ingress("edge"))
    assert "all requests of it stay on the stable version" in text
    assert "name it in trafficRoutings, too, if it should follow the steps" in text


@pytest.mark.parametrize(
    ("api_version", "kind", "spec"),
    [
        (ROUTES, "HTTPRoute", {"rules": [{"backendRefs": [{"name": "web", "port": 80}]}]}),
        (MESH, "VirtualService", {"http": [{"route": [{"destination": {"host": "web.shop"}}]}]}),
        (INGRESS, "Ingress", {"defaultBackend": {"service": {"name": "web"}}}),
    ],
)
def test_every_shape_of_a_destination_counts(api_version: str, kind: str, spec: JsonObject) -> None:
    one = Named(f"{PLACE}.x", api_version, kind, "web", service="web")
    (text,) = told(one, {"metadata": {"name": "edge"}, "spec": spec})
    assert f"{kind} shop/edge leads to Service web" in text


@pytest.mark.parametrize(
    "other",
    [
        of_ingress("web"),
        of_ingress("edge", service="api"),
        of_ingress("web-canary", annotations={COMPANION: "{}"}),
        {"metadata": {"name": "edge"}, "spec": {"ingressClassName": "web"}},
        {},
    ],
    ids=["the named one", "another Service", "made by us", "the same word elsewhere", "nothing"],
)
def test_other_objects_are_no_reason(other: JsonObject) -> None:
    assert told(an_ingress(), other) == ()


def test_many_are_one_warning_and_so_are_two_references_of_one_kind() -> None:
    first, second = an_ingress("a"), an_ingress("b")
    others = [of_ingress(name) for name in ("a", "b", "c", "d", "e", "f")]
    (text,) = other_routes((first, second), {first: others, second: others}, "shop")
    assert "Ingress shop/c, shop/d, shop/e and 1 more lead to Service web" in text
    assert "lead them to a Service of their own if they should not follow the steps" in text


def test_an_object_of_a_kind_that_was_not_read_is_no_reason() -> None:
    assert other_routes((an_ingress(),), {}, "shop") == ()


def test_a_canary_ingress_of_the_owner_for_the_same_place_is_told() -> None:
    mark = {CANARY: "true"}
    beta = of_ingress("web-beta", service="admin", annotations=mark)
    (text,) = told(an_ingress(), of_ingress("web"), beta)
    assert "Ingress shop/web-beta has the annotation" in text
    assert "gets no requests; remove it before a release begins" in text


@pytest.mark.parametrize(
    "annotations",
    [{}, {CANARY: "false"}, {CANARY: "true", COMPANION: "{}"}],
    ids=["no canary", "switched off", "made by us"],
)
def test_other_ingresses_for_the_same_place_are_no_rivals(annotations: Any) -> None:
    other = of_ingress("web-beta", service="admin", annotations=annotations)
    assert told(an_ingress(), of_ingress("web"), other) == ()


def test_a_canary_ingress_for_a_place_of_another_service_is_no_rival() -> None:
    beta = of_ingress("beta", service="admin", annotations={CANARY: "true"})
    assert told(an_ingress(), of_ingress("web", service="api"), beta) == ()
    assert told(an_ingress(class_type="higress"), of_ingress("web"), beta) == ()


def test_canary_ingresses_are_looked_for_beside_class_nginx_only() -> None:
    assert words_of_neighbours(an_ingress()) == (b"web", CANARY.encode())
    assert words_of_neighbours(an_ingress(class_type="alb")) == (b"web",)
