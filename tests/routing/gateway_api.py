"""Gateway API: the most specific match of all rules wins; of equal ones the first rule."""

from collections.abc import Iterator, Sequence

from tests.routing.model import (
    Request,
    Served,
    Shares,
    Tree,
    below,
    divided,
    whole,
    with_parts,
)

DEFAULT_PATH = {"type": "PathPrefix", "value": "/"}


def http_route(spec: Tree, request: Request) -> Shares:
    """HTTPRoute: exact path, longest prefix, method, number of headers, of query parameters, order."""
    answer = served(spec, request)
    return answer.shares if answer else {}


def served(spec: Tree, request: Request) -> Served | None:
    """HTTPRoute: a prefix may be replaced in a rule with one match, by prefix; a full path anywhere."""
    found = sorted(_fits(spec, request), key=lambda fit: fit[0], reverse=True)
    if not found:
        return None
    rule, match = found[0][1]
    path = request.path
    for change in (f["urlRewrite"]["path"] for f in rule.get("filters", ()) if "urlRewrite" in f):
        if change["type"] == "ReplaceFullPath":
            path = change["replaceFullPath"]
            continue
        assert len(rule["matches"]) == 1 or spec.get("several")
        own = match.get("path", DEFAULT_PATH)
        assert own["type"] == "PathPrefix", "only a prefix can be replaced"
        path = with_parts(path, own["value"], change["replacePrefixMatch"])
    others = [f for f in rule.get("filters", ()) if "urlRewrite" not in f]
    shares = divided((b["name"], b.get("weight", 1)) for b in rule.get("backendRefs", ()))
    return Served(shares, path, others)


def grpc_route(spec: Tree, request: Request) -> Shares:
    """GRPCRoute: longest name of the Service, of the method, number of headers, order. A path is /Service/method."""
    service, method = request.path.strip("/").partition("/")[::2]
    found: list[tuple[tuple[int, ...], Tree]] = []
    for index, rule in enumerate(spec["rules"]):
        matches: Sequence[Tree] = rule.get("matches") or ({},)
        for match in matches:
            named = match.get("method", {})
            headers = match.get("headers", ())
            if (
                named.get("service", service) == service
                and named.get("method", method) == method
                and all(_value_fits(h, request.headers.get(h["name"].lower())) for h in headers)
            ):
                lengths = (len(named.get("service", "")), len(named.get("method", "")))
                found.append(((*lengths, len(headers), -index), rule))
    if not found:
        return {}
    best = max(found, key=lambda fit: fit[0])[1]
    return divided((b["name"], b.get("weight", 1)) for b in best.get("backendRefs", ()))


def one_rule(spec: Tree, request: Request) -> Shares:
    """TCPRoute, TLSRoute, UDPRoute: one rule, nothing to match."""
    return divided((b["name"], b.get("weight", 1)) for b in spec["rules"][0]["backendRefs"])


def _fits(spec: Tree, request: Request) -> Iterator[tuple[tuple[int, ...], tuple[Tree, Tree]]]:
    for index, rule in enumerate(spec["rules"]):
        matches: Sequence[Tree] = rule.get("matches") or ({},)
        for match in matches:
            path = match.get("path", DEFAULT_PATH)
            if not (_path_fits(path, request) and _rest_fits(match, request)):
                continue
            exact = path["type"] == "Exact"
            headers, query = match.get("headers", ()), match.get("queryParams", ())
            length = len(path["value"])
            method = "method" in match
            yield (exact, length, method, len(headers), len(query), -index), (rule, match)


def _path_fits(path: Tree, request: Request) -> bool:
    kind, value = path["type"], path["value"]
    if kind == "Exact":
        return bool(request.path == value)
    return below(value, request.path) if kind == "PathPrefix" else whole(value, request.path)


def _rest_fits(match: Tree, request: Request) -> bool:
    headers = all(
        _value_fits(h, request.headers.get(h["name"].lower())) for h in match.get("headers", ())
    )
    query = all(_value_fits(q, request.query.get(q["name"])) for q in match.get("queryParams", ()))
    return headers and query and bool(match.get("method", request.method) == request.method)


def _value_fits(condition: Tree, value: str | None) -> bool:
    if condition.get("type", "Exact") == "Exact":
        return bool(value == condition["value"])
    return whole(condition["value"], value)
