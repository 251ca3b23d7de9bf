"""NGINX: VirtualServer's routes by path with their matches in order; and canary annotations of ingress-nginx."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tests.routing.ingress import annotations_of, own_host, places
from tests.routing.model import Request, Shares, Tree, divided, within

PREFIX = "nginx.ingress.kubernetes.io/"


def virtual_server(spec: Tree, request: Request) -> Shares:
    """The longest path that fits; inside it the first match whose conditions hold, else the route itself."""
    services = {upstream["name"]: upstream["service"] for upstream in spec["upstreams"]}
    fitting = [route for route in spec.get("routes", ()) if request.path.startswith(route["path"])]
    if not fitting:
        return {}
    route = max(fitting, key=lambda entry: len(entry["path"]))
    for match in route.get("matches", ()):
        if all(_condition(c, request) for c in match["conditions"]):
            return _to(match, services)
    return _to(route, services)


def virtual_server_route(spec: Tree, request: Request) -> Shares:
    """VirtualServerRoute: its subroutes are judged as the routes of a VirtualServer."""
    return virtual_server({**spec, "routes": spec["subroutes"]}, request)


def _to(entry: Tree, services: Mapping[str, str]) -> Shares:
    if "splits" in entry:
        assert sum(split["weight"] for split in entry["splits"]) == 100
        return divided((services[_upstream(s["action"])], s["weight"]) for s in entry["splits"])
    return {services[_upstream(entry["action"])]: Fraction(1)}


def _upstream(action: Tree) -> str:
    return str(action["pass"] if "pass" in action else action["proxy"]["upstream"])


def _condition(condition: Tree, request: Request) -> bool:
    if "header" in condition:
        value = request.headers.get(condition["header"].lower())
    elif "cookie" in condition:
        value = request.cookies.get(condition["cookie"])
    elif "argument" in condition:
        value = request.query.get(condition["argument"])
    else:
        value = {"$request_method": request.method}[condition["variable"]]
    wanted = condition["value"]
    if wanted.startswith("~"):
        return within(wanted[1:], value)
    return value is not None and value.lower() == wanted.lower()


def ingresses(objects: Sequence[Tree], request: Request) -> Shares:
    """ingress-nginx: of a path's canary Ingress the header decides, then the cookie, then the weight.

    User guide of ingress-nginx, "Annotations: Canary": precedence header, cookie, weight; "currently a maximum of one
    canary ingress can be applied per Ingress rule". Exact paths come first, then longer prefixes ("Ingress Path
    Matching"). A pattern is searched for (PCRE).
    """
    found = [place for place in places(objects) if place.fits(request)]
    canaries = [place for place in found if "canary" in annotations_of(place.ingress, PREFIX)]
    plain = own_host([place for place in found if place not in canaries], request)
    if not plain:
        return {}
    stable = max(plain, key=lambda place: place.by_path)
    key = (stable.host, stable.path, stable.exact)
    beside = [place for place in canaries if (place.host, place.path, place.exact) == key]
    if not beside:
        return {stable.service: Fraction(1)}
    (canary,) = beside
    share = _canary_share(annotations_of(canary.ingress, PREFIX), request)
    shares = {stable.service: 1 - share, canary.service: share}
    return {name: part for name, part in shares.items() if part}


def _canary_share(given: Mapping[str, str], request: Request) -> Fraction:
    assert given["canary"] == "true"
    if "canary-by-header" in given:
        value = request.headers.get(given["canary-by-header"].lower())
        if "canary-by-header-value" in given and value == given["canary-by-header-value"]:
            return Fraction(1)
        if "canary-by-header-pattern" in given and within(given["canary-by-header-pattern"], value):
            return Fraction(1)
    if "canary-by-cookie" in given and request.cookies.get(given["canary-by-cookie"]) == "always":
        return Fraction(1)
    return Fraction(
        int(given.get("canary-weight", "0")), int(given.get("canary-weight-total", "100"))
    )
