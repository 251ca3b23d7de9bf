"""Kuma MeshHTTPRoute: rules are ordered by their matches, as the Gateway API orders them (since 2.7).

Requests that no rule of a list fits go to the Service of the list, whatever a step says: they are not judged here.
"""

from tests.routing import gateway_api
from tests.routing.model import Request, Shares, Tree


def mesh_http_route(spec: Tree, request: Request) -> Shares:
    """One list, of one Service; a rule without backends leads to the Service of the list."""
    (to,) = spec["to"]
    own = to["targetRef"]["name"]
    rules = [
        {
            "matches": [_in_gateway_words(match) for match in rule["matches"]],
            "backendRefs": rule["default"].get("backendRefs") or [{"name": own}],
        }
        for rule in to["rules"]
    ]
    return gateway_api.http_route({"rules": rules}, request)


def _in_gateway_words(match: Tree) -> Tree:
    """The words are the same but for the types of query parameters."""
    return {name: value for name, value in match.items() if value}
