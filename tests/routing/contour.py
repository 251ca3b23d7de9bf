"""Contour HTTPProxy: the more specific route wins: sort and length of the path, more headers, more query parameters.

Of two that are as specific, the one whose conditions come first by name, operator and value; never the order of routes.
"""

from collections.abc import Sequence
from typing import Any

from tests.routing.model import Request, Shares, Tree, below, divided, whole

OPERATORS = ("exact", "regex", "present")
Text = tuple[str, int, str]


def http_proxy(spec: Tree, request: Request) -> Shares:
    """Conditions of a route hold together; with no weight at all its services share evenly."""
    fitting = [r for r in spec["routes"] if all(_fits(c, request) for c in r.get("conditions", ()))]
    if not fitting:
        return {}
    services = [s for s in _first(fitting)["services"] if not s.get("mirror")]
    even = not any("weight" in service for service in services)
    return divided((s["name"], 1 if even else s.get("weight", 0)) for s in services)


Rank = tuple[int, int, int, int]


def _first(routes: Sequence[Tree]) -> Tree:
    """Of routes with as many conditions, the one whose conditions come first in the alphabet."""
    best = max(map(_specificity, routes))
    return min((r for r in routes if _specificity(r) == best), key=_texts)


def _specificity(route: Tree) -> Rank:
    conditions = route.get("conditions", ())
    kind = max((2 if "exact" in c else 1 if "regex" in c else 0 for c in conditions), default=0)
    length = sum(len(c.get("exact") or c.get("prefix") or c.get("regex", "")) for c in conditions)
    headers = sum("header" in condition for condition in conditions)
    query = sum("queryParameter" in condition for condition in conditions)
    return kind, length or len("/"), headers, query


def _texts(route: Tree) -> tuple[list[Text], list[Text]]:
    conditions = route.get("conditions", ())
    return (
        sorted(_text(c["header"]) for c in conditions if "header" in c),
        [_text(c["queryParameter"]) for c in conditions if "queryParameter" in c],
    )


def _text(named: Tree) -> Text:
    order = next(at for at, operator in enumerate(OPERATORS) if operator in named)
    return named["name"], order, str(named[OPERATORS[order]])


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
