"""An author hears of a Service's authentication that a share of the traffic would switch off."""

from controller.api.meta import ObjectMeta
from controller.api.networking import Service
from controller.domain.admission.named import SERVICE, Named
from controller.domain.admission.surroundings import Absent, Seen
from controller.domain.admission.unauthenticated import AUTHENTICATION, unauthenticated

BACKEND = Named("spec.x.service", *SERVICE, "web")
INGRESS = Named("spec.x.ref", "networking.k8s.io/v1", "Ingress", "web", service="web")
ROUTE = Named("spec.x.ref", "gateway.networking.k8s.io/v1", "HTTPRoute", "web", service="web")


def told(seen: Seen, route: Named = INGRESS) -> tuple[str, ...]:
    return unauthenticated((BACKEND, route), {BACKEND: seen}, "shop")


def a_service(annotation: str) -> Service:
    return Service(metadata=ObjectMeta(name="web", annotations={annotation: "oidc"}))


def test_annotations_of_the_service_are_to_move_to_the_ingress() -> None:
    (text,) = told(a_service(f"{AUTHENTICATION}type"))
    assert text.startswith("spec.x.service: Service shop/web has annotations")
    assert text.endswith("move these annotations to the Ingress")


def test_others_are_no_reason() -> None:
    assert told(a_service("alb.ingress.kubernetes.io/healthcheck-path")) == ()
    assert told(a_service(f"{AUTHENTICATION}type"), ROUTE) == ()
    assert told(Absent()) == ()
