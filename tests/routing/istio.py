"""Istio VirtualService: the first rule with a match that fits; an absent weight of several is nothing."""

from collections.abc import Sequence

from tests.routing.model import Request, Shares, Tree, divided, whole


def virtual_service(spec: Tree, request: Request) -> Shares:
    """HTTP rules in order; conditions of one match hold together, matches are alternatives."""
    for rule in spec["http"]:
        matches: Sequence[Tree] = rule.get("match") or ({},)
        if any(_fits(match, request) for match in matches):
            routes = rule.get("route", ())
            alone = len(routes) == 1
            return divided(
                (r["destination"]["host"], 1 if alone else r.get("weight", 0)) for r in routes
            )
    return {}


def _fits(match: Tree, request: Request) -> bool:
    uri = "uri" not in match or _string(match["uri"], request.path)
    method = "method" not in match or _string(match["method"], request.method)
    headers = all(
        _string(c, request.headers.get(n.lower())) for n, c in match.get("headers", {}).items()
    )
    query = all(_string(c, request.query.get(n)) for n, c in match.get("queryParams", {}).items())
    return uri and method and headers and query


def _string(condition: Tree, value: str | None) -> bool:
    if value is None:
        return False
    if "exact" in condition:
        return bool(value == condition["exact"])
    if "prefix" in condition:
        return bool(value.startswith(condition["prefix"]))
    return whole(condition["regex"], value)
