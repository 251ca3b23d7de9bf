"""ALB of Alibaba Cloud: rules are asked in the order of Ingresses and of their paths, however long a path is.

pkg/controller/ingress/reconcile/builder/albconfig_manager/model_build_listener_rules.go of
alibaba/alibaba-load-balancer-controller (1.2): rules have the order of the Ingresses, inside one that of its paths; a
canary Ingress with a weight has no rules, its Services join those of the same host and path; one with a header or a
cookie has rules of its own, for paths that another Ingress has too. "Perform canary releases by using ALB Ingresses":
the annotation `order` (10 where it is not said, lower first), then names; a cookie says always.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from fractions import Fraction

from tests.routing.ingress import Place, annotations_of, places
from tests.routing.model import Request, Shares, Tree

PREFIX = "alb.ingress.kubernetes.io/"


def ingresses(objects: Sequence[Tree], request: Request) -> Shares:
    """The first rule that fits, with the canary Services of its host and path."""
    ordered = list(places(sorted(objects, key=_order)))
    plain = {(p.host, p.path) for p in ordered if not _is_canary(p)}
    weights = {(p.host, p.path): p for p in ordered if "canary-weight" in _said(p)}
    for place in ordered:
        own = "canary-weight" not in _said(place) and (place.host, place.path) in plain
        if own and place.fits(request) and _holds(place, request):
            canary = None if _is_canary(place) else weights.get((place.host, place.path))
            return _shares(place, canary)
    return {}


def _order(ingress: Tree) -> tuple[int, str]:
    return int(annotations_of(ingress, PREFIX).get("order", "10")), ingress["metadata"]["name"]


def _said(place: Place) -> dict[str, str]:
    return annotations_of(place.ingress, PREFIX)


def _is_canary(place: Place) -> bool:
    return _said(place).get("canary") == "true"


def _holds(place: Place, request: Request) -> bool:
    given = _said(place)
    if not _is_canary(place):
        return True
    if "canary-by-cookie" in given:
        return request.cookies.get(given["canary-by-cookie"]) == "always"
    value = request.headers.get(given["canary-by-header"].lower())
    return value is not None and fnmatchcase(value, given["canary-by-header-value"])


def _shares(place: Place, canary: Place | None) -> Shares:
    part = Fraction(int(_said(canary)["canary-weight"]), 100) if canary else Fraction(0)
    shares = {place.service: 1 - part}
    if canary and part:
        shares[canary.service] = part
    return {name: each for name, each in shares.items() if each}
