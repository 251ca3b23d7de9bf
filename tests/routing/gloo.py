"""Gloo (VirtualService, RouteTable): the first route of which any matcher fits; a route without matchers fits all.

A prefix is one of characters, an expression has to fit the whole value (Envoy).
"""

from collections.abc import Mapping, Sequence

from tests.routing.model import Request, Served, Shares, Tree, divided, whole, with_letters

EVERYTHING = ({"prefix": "/"},)


def routes(holder: Tree, request: Request) -> Shares:
    """Routes of a RouteTable, or of a virtual host."""
    answer = served(holder, request)
    return answer.shares if answer else {}


def served(holder: Tree, request: Request) -> Served | None:
    """`options.prefixRewrite` takes the place of the matched prefix, letters for letters, or of the whole path."""
    for route in holder["routes"]:
        matchers: Sequence[Tree] = route.get("matchers") or EVERYTHING
        for matcher in matchers:
            if _fits(matcher, request):
                options, path = route.get("options", {}), request.path
                if "prefixRewrite" in options:
                    path = with_letters(path, matcher.get("prefix", path), options["prefixRewrite"])
                return Served(_led_to(route["routeAction"]), path, options.get("timeout"))
    return None


def virtual_service(spec: Tree, request: Request) -> Shares:
    """Gloo VirtualService."""
    return routes(spec["virtualHost"], request)


def _led_to(action: Tree) -> Shares:
    if "single" in action:
        return divided([(_name(action["single"]), 1)])
    found = action["multi"]["destinations"]
    return divided((_name(entry["destination"]), entry.get("weight", 0)) for entry in found)


def _name(destination: Tree) -> str:
    return str(destination["kube"]["ref"]["name"])


def _fits(matcher: Tree, request: Request) -> bool:
    if "exact" in matcher:
        path = request.path == matcher["exact"]
    elif "regex" in matcher:
        path = whole(matcher["regex"], request.path)
    else:
        path = request.path.startswith(matcher["prefix"])
    return (
        path
        and request.method in (matcher.get("methods") or (request.method,))
        and _all(matcher.get("headers", ()), request.headers, lower=True)
        and _all(matcher.get("queryParameters", ()), request.query, lower=False)
    )


def _all(conditions: Sequence[Tree], values: Mapping[str, str], *, lower: bool) -> bool:
    return all(_holds(c, values.get(c["name"].lower() if lower else c["name"])) for c in conditions)


def _holds(condition: Tree, value: str | None) -> bool:
    wanted = condition.get("value", "")
    if condition.get("regex"):
        return whole(wanted, value) != bool(condition.get("invertMatch"))
    holds = value == wanted if wanted else value is not None
    return holds != bool(condition.get("invertMatch"))
