"""Contour HTTPProxy: the more specific route wins: sort and length of the path, more headers, more query parameters.

Of two that are as specific, the one whose conditions come first by name, operator and value; never the order of routes.
A prefix is one of letters (`PrefixMatchString` in internal/dag: "prefix /foo matches /foobar"). `replacePrefix`
replaces it ("Request Rewriting"), with one slash before the rest of the path (`expandPrefixMatches`).
"""

from collections.abc import Sequence
from typing import Any

from tests.routing.model import (
    Request,
    Served,
    Shares,
    Tree,
    below,
    divided,
    whole,
    with_letters,
    with_parts,
)

OPERATORS = ("exact", "regex", "present")
Text = tuple[str, int, str]


def http_proxy(spec: Tree, request: Request) -> Shares:
    """Conditions of a route hold together; with no weight at all its services share evenly."""
    answer = served(spec, request)
    return answer.shares if answer else {}


def served(spec: Tree, request: Request) -> Served | None:
    """The first route, and its path rewrite."""
    listed = [route.get("conditions") for route in spec["routes"]]
    assert all(listed.count(one) == 1 for one in listed), (
        "Contour refuses a second route of the same conditions"
    )
    fitting = [r for r in spec["routes"] if all(_fits(c, request) for c in r.get("conditions", ()))]
    if not fitting:
        return None
    route = _first(fitting)
    services = [s for s in route["services"] if not s.get("mirror")]
    even = not any("weight" in service for service in services)
    shares = divided((s["name"], 1 if even else s.get("weight", 0)) for s in services)
    return Served(shares, _rewritten(route, request.path), route.get("timeoutPolicy"))


def _rewritten(route: Tree, path: str) -> str:
    own = next((c["prefix"] for c in route.get("conditions", ()) if "prefix" in c), "/")
    for change in route.get("pathRewritePolicy", {}).get("replacePrefix", ()):
        if change.get("prefix", own) == own:
            way = with_parts if below(own, path) else with_letters
            return way(path, own, change["replacement"])
    return path


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
        return request.path.startswith(condition["prefix"])
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
