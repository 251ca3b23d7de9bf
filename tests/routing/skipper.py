"""Skipper RouteGroup: the path tree first (an exact path, then the longest subtree), then the strictest predicates.

How strict a route is: the number of its predicates, of which a method is one. Which of two equally strict ones wins is
not defined.
"""

import json
import re
from collections.abc import Mapping, Sequence

from tests.routing.ingress import own_host, places
from tests.routing.model import Request, Served, Shares, Tree, below, divided

DEFAULT_ROUTES = ({"pathSubtree": "/"},)
CALL = re.compile(r'(\w+)\("((?:[^"\\]|\\.)*)"(?:, "((?:[^"\\]|\\.)*)")?\)')


def route_group(spec: Tree, request: Request) -> Shares:
    """Routes without backends of their own lead to the default ones; without routes there is one for all."""
    answer = served(spec, request)
    return answer.shares if answer else {}


def served(spec: Tree, request: Request) -> Served | None:
    """The filters of the route are what else is done."""
    services = {backend["name"]: backend["serviceName"] for backend in spec["backends"]}
    routes: Sequence[Tree] = spec.get("routes") or DEFAULT_ROUTES
    fitting = [route for route in routes if _path(route, request) and _rest(route, request)]
    if not fitting:
        return None
    best = max(map(_rank, fitting))
    answers = [
        Served(_led_to(route, spec, services), request.path, route.get("filters"))
        for route in fitting
        if _rank(route) == best
    ]
    if any(answer != answers[0] for answer in answers):
        raise Undefined
    return answers[0]


class Undefined(Exception):
    """Several routes are equally strict."""


def _led_to(route: Tree, spec: Tree, services: Mapping[str, str]) -> Shares:
    found = route.get("backends") or spec.get("defaultBackends", ())
    even = not any("weight" in entry for entry in found)
    return divided((services[e["backendName"]], 1 if even else e.get("weight", 0)) for e in found)


def _rank(route: Tree) -> tuple[bool, int, int]:
    """A route outside the tree, without a path or a subtree, is asked last."""
    path = route.get("path") or route.get("pathSubtree")
    strict = len(route.get("predicates", ())) + bool(route.get("methods")) + ("pathRegexp" in route)
    return "path" in route, len(path.rstrip("/")) if path else -1, strict


def _path(route: Tree, request: Request) -> bool:
    if "path" in route and request.path != route["path"]:
        return False
    if "pathSubtree" in route and not below(route["pathSubtree"], request.path):
        return False
    return "pathRegexp" not in route or bool(re.search(route["pathRegexp"], request.path))


def _rest(route: Tree, request: Request) -> bool:
    methods = route.get("methods") or (request.method,)
    return request.method in methods and all(
        _predicate(text, request) for text in route.get("predicates", ())
    )


def _predicate(text: str, request: Request) -> bool:
    found = CALL.fullmatch(text)
    assert found is not None, text
    name, key, wanted = (re.sub(r"\\(.)", r"\1", part or "") for part in found.groups())
    if name == "Header":
        return request.headers.get(key.lower()) == wanted
    sources = {
        "HeaderRegexp": request.headers.get(key.lower()),
        "QueryParam": request.query.get(key),
        "Cookie": request.cookies.get(key),
    }
    value = sources[name]
    return value is not None and re.search(wanted, value) is not None


WEIGHTS = "zalando.org/backend-weights"


def ingresses(objects: Sequence[Tree], request: Request) -> Shares:
    """Skipper's Ingress: Services that share a path have it by their weights, where one of them has a weight.

    dataclients/kubernetes/ingressv1.go of zalando/skipper (`computeBackendWeightsV1`): weights of the annotation,
    nothing if a Service is not in it, by the text of the path; without any weight those that are not in it have the
    same. Weights are ratios; alone a Service has all, whatever
    its weight. Exact paths come before subtrees, longer before shorter.
    """
    (ingress,) = objects
    found = own_host([place for place in places(objects) if place.fits(request)], request)
    if not found:
        return {}
    first = max(place.by_path for place in found)
    names = [place.service for place in found if place.by_path == first]
    weights = json.loads(ingress["metadata"].get("annotations", {}).get(WEIGHTS, "{}"))
    if len(names) > 1 and any(weights.get(name) for name in names):
        return divided((name, weights.get(name, 0)) for name in names)
    unnamed = [name for name in names if name not in weights]
    return divided((name, 1) for name in unnamed or names)
