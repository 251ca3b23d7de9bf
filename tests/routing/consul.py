"""Consul ServiceRouter: the first route of which all conditions fit; behind them one for all, to the Service itself.

A prefix is one of characters, an expression has to fit the whole value (Envoy).
"""

from fractions import Fraction

from tests.routing.model import Request, Served, Shares, Tree, whole, with_letters

OWN = "web"
"""The object is named after the Service."""


def service_router(spec: Tree, request: Request) -> Shares:
    """Each route leads to one Service; without a name that is its own."""
    return served(spec, request).shares


def served(spec: Tree, request: Request) -> Served:
    """`prefixRewrite` takes the place of the matched prefix, letters for letters, or of the whole path."""
    for route in spec.get("routes", ()):
        http = route.get("match", {}).get("http", {})
        if _fits(http, request):
            to, path = route.get("destination", {}), request.path
            if "prefixRewrite" in to:
                whole_path = "pathExact" in http or "pathRegex" in http
                own = path if whole_path else http.get("pathPrefix", "/")
                path = with_letters(path, own, to["prefixRewrite"])
            return Served({to.get("service", OWN): Fraction(1)}, path, to.get("requestTimeout"))
    return Served({OWN: Fraction(1)}, request.path)


def _fits(http: Tree, request: Request) -> bool:
    return (
        _path(http, request.path)
        and request.method in (http.get("methods") or (request.method,))
        and all(_holds(c, request.headers.get(c["name"].lower())) for c in http.get("header", ()))
        and all(_holds(c, request.query.get(c["name"])) for c in http.get("queryParam", ()))
    )


def _path(http: Tree, path: str) -> bool:
    if "pathExact" in http:
        return bool(path == http["pathExact"])
    if "pathRegex" in http:
        return whole(http["pathRegex"], path)
    return path.startswith(http.get("pathPrefix", "/"))


def _holds(condition: Tree, value: str | None) -> bool:
    if condition.get("present"):
        holds = value is not None
    elif "regex" in condition:
        holds = whole(condition["regex"], value)
    else:
        holds = value == condition["exact"]
    return holds != bool(condition.get("invert"))
