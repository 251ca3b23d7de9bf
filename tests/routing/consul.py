"""Consul ServiceRouter: the first route of which all conditions fit; behind them one for all, to the Service itself.

A prefix is one of characters, an expression has to fit the whole value (Envoy).
"""

from fractions import Fraction

from tests.routing.model import Request, Shares, Tree, whole

OWN = "web"
"""The object is named after the Service."""


def service_router(spec: Tree, request: Request) -> Shares:
    """Each route leads to one Service; without a name that is its own."""
    for route in spec.get("routes", ()):
        if _fits(route.get("match", {}).get("http", {}), request):
            return {route.get("destination", {}).get("service", OWN): Fraction(1)}
    return {OWN: Fraction(1)}


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
