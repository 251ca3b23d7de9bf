"""ELB Ingress of Huawei Cloud CCE: headers of grayscale Ingresses, then cookies, then weights.

"Configuring Grayscale Release for a LoadBalancer Ingress" (cce_10_0736): the policy based on headers has the highest
priority, then cookies, then weights; a header and a cookie each come with an annotation for their values, in which *
and ? stand for letters. It "relies on the ELB advanced forwarding policies. Once enabled, the priority is not
determined by the domain name or path matching", which leaves open whether a grayscale rule comes before longer paths
of the original: a claim is judged both ways.
"""

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from fractions import Fraction

from tests.routing.ingress import Gateway, Place, annotations_of, places
from tests.routing.model import Request, Shares, Tree

PREFIX = "kubernetes.io/elb."
SORTS = ("header", "cookie")


def by_path(objects: Sequence[Tree], request: Request) -> Shares:
    """The path decides, and a grayscale policy among those of one path ("Default Sorting", cce_10_0950)."""
    found = [place for place in places(objects) if place.fits(request)]
    if not found:
        return {}
    best = max(place.by_path for place in found)
    return _among([place for place in found if place.by_path == best], request)


def by_policy(objects: Sequence[Tree], request: Request) -> Shares:
    """Grayscale rules for headers and cookies come before all others, in the order of their paths."""
    found = [place for place in places(objects) if place.fits(request)]
    for sort in SORTS:
        for place in found:
            if _holds(place, sort, request):
                return {place.service: Fraction(1)}
    plain = [
        p
        for p in found
        if not any(f"canary-by-{s}" in annotations_of(p.ingress, PREFIX) for s in SORTS)
    ]
    return by_path([], request) if not plain else _among(_longest(plain), request)


GATEWAYS: tuple[Gateway, ...] = (by_path, by_policy)


def _longest(found: Sequence[Place]) -> list[Place]:
    best = max(place.by_path for place in found)
    return [place for place in found if place.by_path == best]


def _among(found: Sequence[Place], request: Request) -> Shares:
    for sort in SORTS:
        for place in found:
            if _holds(place, sort, request):
                return {place.service: Fraction(1)}
    (stable,) = [p for p in found if "canary" not in annotations_of(p.ingress, PREFIX)]
    shares = {stable.service: Fraction(1)}
    for place in found:
        weight = Fraction(int(annotations_of(place.ingress, PREFIX).get("canary-weight", "0")), 100)
        if weight:
            shares = {stable.service: 1 - weight, place.service: weight}
    return {name: part for name, part in shares.items() if part}


def _holds(place: Place, sort: str, request: Request) -> bool:
    given = annotations_of(place.ingress, PREFIX)
    name = given.get(f"canary-by-{sort}")
    if name is None:
        return False
    values: list[str] = json.loads(given[f"canary-by-{sort}-value"])["values"]
    value = request.headers.get(name.lower()) if sort == "header" else request.cookies.get(name)
    return value is not None and any(fnmatchcase(value, wanted) for wanted in values)
