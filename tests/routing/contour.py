"""Contour HTTPProxy: the more specific route wins: exact path, longer prefix, more headers, more query parameters."""

from typing import Any

from tests.routing.model import Request, Shares, Tree, below, divided, whole


def http_proxy(spec: Tree, request: Request) -> Shares:
    """Conditions of a route hold together; with no weight at all its services share evenly."""
    fitting = [r for r in spec["routes"] if all(_fits(c, request) for c in r.get("conditions", ()))]
    if not fitting:
        return {}
    services = [s for s in max(fitting, key=_specificity)["services"] if not s.get("mirror")]
    even = not any("weight" in service for service in services)
    return divided((s["name"], 1 if even else s.get("weight", 0)) for s in services)


def _specificity(route: Tree) -> tuple[bool, int, int, int]:
    conditions = route.get("conditions", ())
    exact = any("exact" in condition for condition in conditions)
    length = sum(len(c.get("exact", c.get("prefix", ""))) for c in conditions)
    headers = sum("header" in condition for condition in conditions)
    query = sum("queryParameter" in condition for condition in conditions)
    return exact, length, headers, query


def _fits(condition: Tree, request: Request) -> bool:
    if "prefix" in condition:
        return below(condition["prefix"], request.path)
    if "exact" in condition:
        return bool(condition["exact"] == request.path)
    if "regex" in condition:
        return whole(condition["regex"], request.path)
    if "header" in condition:
        named = condition["header"]
        return _value(named, request.headers.get(named["name"].lower()))
    named = condition["queryParameter"]
    return _value(named, request.query.get(named["name"]))


def _value(named: dict[str, Any], value: str | None) -> bool:
    if "exact" in named:
        return bool(named["exact"] == value)
    if "present" in named:
        return value is not None
    return whole(named["regex"], value)
