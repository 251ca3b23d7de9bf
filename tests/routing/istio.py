"""Istio VirtualService: the first rule with a match that fits; an absent weight of several is nothing.

With its DestinationRule (Istio 1.2x, references of both): a subset is the endpoints of the host whose labels fit; a
destination without one has all endpoints; a subset that no DestinationRule has is answered by nobody.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tests.routing.model import Request, Served, Shares, Tree, divided, whole, with_letters

NOBODY = ""
Pods = Mapping[str, Mapping[str, str]]
"""Labels of the pods of a host, by revision; each revision has as many."""


def virtual_service(spec: Tree, request: Request) -> Shares:
    """HTTP rules in order; conditions of one match hold together, matches are alternatives."""
    return divided((to["host"], weight) for to, weight in _destinations(spec, request))


def served(spec: Tree, request: Request) -> Served | None:
    """`rewrite.uri` takes the place of the matched prefix, letters for letters, or of the whole path (Envoy)."""
    for rule in spec["http"]:
        matches: Sequence[Tree] = rule.get("match") or ({},)
        for match in matches:
            if _fits(match, request):
                path = request.path
                if "rewrite" in rule:
                    own = match.get("uri", {"prefix": "/"}).get("prefix", path)
                    path = with_letters(path, own, rule["rewrite"]["uri"])
                return Served(virtual_service(spec, request), path, rule.get("timeout"))
    return None


def by_revision(spec: Tree, rule: Tree, hosts: Mapping[str, Pods], request: Request) -> Shares:
    """The shares of the revisions of hosts; `rule` is the DestinationRule of one of them."""
    shares: list[tuple[str, Fraction]] = []
    for to, weight in _destinations(spec, request):
        found = _selected(to, rule, hosts[to["host"]])
        shares += [(revision, Fraction(weight, len(found))) for revision in found]
    return divided(shares)


def _selected(to: Tree, rule: Tree, pods: Pods) -> list[str]:
    if "subset" not in to:
        return list(pods)
    subsets = {subset["name"]: subset["labels"] for subset in rule.get("subsets", ())}
    if to["host"] != rule["host"] or to["subset"] not in subsets:
        return [NOBODY]
    wanted = subsets[to["subset"]].items()
    return [name for name, labels in pods.items() if wanted <= labels.items()] or [NOBODY]


def _destinations(spec: Tree, request: Request) -> list[tuple[Tree, int]]:
    for rule in spec["http"]:
        matches: Sequence[Tree] = rule.get("match") or ({},)
        if any(_fits(match, request) for match in matches):
            routes = rule.get("route", ())
            alone = len(routes) == 1
            return [(r["destination"], 1 if alone else r.get("weight", 0)) for r in routes]
    return []


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
