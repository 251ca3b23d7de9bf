"""Kuma: MeshHTTPRoute, whose rules are ordered by their matches, and the older TrafficRoute, whose first rule wins.

MeshHTTPRoute: ordered as the Gateway API orders matches (since 2.7); a request that fits no rule is answered by the
Service of the list, in newer versions with 404 (`prepareRoutes` in pkg/plugins/policies/meshhttproute/xds): here by
nobody.
TrafficRoute (1.8, policies/traffic-route, and mesh/v1alpha1/traffic_route.proto): "Traffic is matched one by one with
the order defined in the list. If the request does not match any criteria then split or destination outside of http is
executed"; weights are no percentages, and one of 0 is ignored; a prefix is one of characters, an expression fits the
whole value (Envoy).
"""

from tests.routing import gateway_api
from tests.routing.model import Request, Served, Shares, Tree, divided, whole, with_letters

TAG = "kuma.io/service"


def mesh_http_route(spec: Tree, request: Request) -> Shares:
    """One list, of one Service; a rule without backends leads to the Service of the list."""
    answer = served(spec, request)
    return answer.shares if answer else {}


def served(spec: Tree, request: Request) -> Served | None:
    """Several matches of a rule may have their prefixes replaced by the same."""
    (to,) = spec["to"]
    own = to["targetRef"]["name"]
    rules = [
        {
            "matches": [_in_gateway_words(match) for match in rule["matches"]],
            "filters": rule["default"].get("filters", ()),
            "backendRefs": rule["default"].get("backendRefs") or [{"name": own}],
        }
        for rule in to["rules"]
    ]
    return gateway_api.served({"rules": rules, "several": True}, request)


def _in_gateway_words(match: Tree) -> Tree:
    """The words are the same but for the types of query parameters."""
    return {name: value for name, value in match.items() if value}


def traffic_route(spec: Tree, request: Request) -> Shares:
    """The first HTTP rule that fits, else the configuration itself."""
    return served_by_tags(spec, request).shares


def served_by_tags(spec: Tree, request: Request) -> Served:
    """TrafficRoute: `modify.path.rewritePrefix` replaces the matched prefix, letters for letters (Envoy)."""
    conf = spec["conf"]
    fitting = [rule for rule in conf.get("http", ()) if _fits(rule.get("match", {}), request)]
    holder = fitting[0] if fitting else conf
    split = holder.get("split") or [{"weight": 1, "destination": holder["destination"]}]
    shares = divided(
        (entry["destination"][TAG].partition("_")[0], entry["weight"]) for entry in split
    )
    path, modify = request.path, holder.get("modify", {})
    if "rewritePrefix" in modify.get("path", {}):
        own = holder["match"].get("path", {"prefix": "/"})
        matched = own.get("prefix", path)
        path = with_letters(path, matched, modify["path"]["rewritePrefix"])
    return Served(shares, path, modify.get("requestHeaders"))


def _fits(match: Tree, request: Request) -> bool:
    return (
        _string(match.get("path"), request.path)
        and _string(match.get("method"), request.method)
        and all(
            _string(condition, request.headers.get(name.lower()))
            for name, condition in match.get("headers", {}).items()
        )
    )


def _string(condition: Tree | None, value: str | None) -> bool:
    if condition is None:
        return True
    if "regex" in condition:
        return whole(condition["regex"], value)
    if "prefix" in condition:
        return value is not None and value.startswith(condition["prefix"])
    return bool(value == condition["exact"])
