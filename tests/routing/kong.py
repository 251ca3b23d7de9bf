"""Kong: a route with more sorts of conditions comes first; only where these are as many, headers and paths count.

"Routing in Kong Gateway", traditional_compat: the order is priority points (one for each of methods, hosts and headers
that a route has), hosts without wildcards, the number of headers, expressions and prefixes by length, and "the priority
of the route will be calculated separately for each of the paths"; of equal priority "it is not defined which of the
matching routes will be used". subtranslator/ingress_atc.go of the Kong Ingress Controller (3.x) gives routes made of
expressions the same order, but for the number of headers, which comes before hosts: every claim is judged both
ways. Annotations: `headers.<name>` with values parted by commas, of which one has to hold; "~*" is an expression that
is searched for; all names have to hold; `methods`.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from tests.routing.ingress import Gateway, Place, annotations_of, places
from tests.routing.model import Request, Shares, Tree, within

PREFIX = "konghq.com/"
REGEX = "~*"


def by_document(objects: Sequence[Tree], request: Request) -> Shares:
    """Hosts before the number of headers."""
    return _answer(objects, request, lambda p: (_points(p), bool(p.host), _number(p), p.by_path))


def by_controller(objects: Sequence[Tree], request: Request) -> Shares:
    """The number of headers before hosts."""
    return _answer(objects, request, lambda p: (_points(p), _number(p), bool(p.host), p.by_path))


GATEWAYS: tuple[Gateway, ...] = (by_document, by_controller)


def _answer(
    objects: Sequence[Tree], request: Request, priority: Callable[[Place], tuple[Any, ...]]
) -> Shares:
    """The routes of the highest priority; all of them have to lead to one Service."""
    found = [p for p in places(objects) if p.fits(request) and _holds(p.ingress, request)]
    if not found:
        return {}
    best = max(map(priority, found))
    answers = {place.service for place in found if priority(place) == best}
    assert len(answers) == 1, "of equal priority, it is not defined which is used"
    return {answers.pop(): Fraction(1)}


def _headers(ingress: Tree) -> dict[str, list[str]]:
    given = annotations_of(ingress, PREFIX + "headers.")
    # A comma in an expression is part of it.
    return {n: [v] if v.startswith(REGEX) else v.split(",") for n, v in given.items()}


def _methods(ingress: Tree) -> list[str]:
    return [each for each in annotations_of(ingress, PREFIX).get("methods", "").split(",") if each]


def _number(place: Place) -> int:
    return len(_headers(place.ingress))


def _points(place: Place) -> int:
    return bool(place.host) + bool(_number(place)) + bool(_methods(place.ingress))


def _holds(ingress: Tree, request: Request) -> bool:
    if request.method not in (_methods(ingress) or [request.method]):
        return False
    return all(
        any(_value(wanted, request.headers.get(name.lower())) for wanted in values)
        for name, values in _headers(ingress).items()
    )


def _value(wanted: str, value: str | None) -> bool:
    if wanted.startswith(REGEX):
        return within(wanted.removeprefix(REGEX), value)
    return value == wanted
