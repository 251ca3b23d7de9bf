"""CiliumEnvoyConfig: Envoy's own route configuration, and the clusters and Services it needs.

Envoy, "Route matching" and config.route.v3: the virtual host of the request's host, then the first of its routes that
fits; a prefix is one of characters, `path_separated_prefix` one of parts; an expression fits the whole value; weights
are out of their sum, which `total_weight` has to be where it is written. Cilium, cec_types.go of its v2 API: of the
Services under `services` and `backendServices` the "backends are automatically synced to Envoy using EDS". So a request
that is led to a cluster that is not defined, or whose Service is in neither list, is answered by nobody.
"""

from collections.abc import Iterator

from tests.routing.model import Request, Served, Shares, Tree, below, divided, whole, with_letters

ROUTES = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
NOBODY = ""


def envoy_config(spec: Tree, request: Request) -> Shares:
    """The first route of the first virtual host that has the host."""
    clusters = {entry["name"] for entry in spec["resources"] if entry["@type"] == CLUSTER}
    known = {
        f"{entry.get('namespace', 'demo')}/{entry['name']}"
        for entry in (*spec.get("services", ()), *spec.get("backendServices", ()))
    }
    for route in _routes(spec, request):
        if _fits(route["match"], request):
            return divided(
                (name.rpartition("/")[2] if name in clusters & known else NOBODY, weight)
                for name, weight in _led_to(route["route"])
            )
    return {}


def served(spec: Tree, request: Request) -> Served | None:
    """`prefix_rewrite` takes the place of the matched prefix, letters for letters, or of the whole path."""
    for route in _routes(spec, request):
        match, action, path = route["match"], route["route"], request.path
        if _fits(match, request):
            if "prefix_rewrite" in action:
                own = match.get("prefix", match.get("path_separated_prefix", path))
                path = with_letters(path, own, action["prefix_rewrite"])
            return Served(envoy_config(spec, request), path, action.get("timeout"))
    return None


def _routes(spec: Tree, request: Request) -> Iterator[Tree]:
    for resource in spec["resources"]:
        if resource["@type"] != ROUTES:
            continue
        for host in resource["virtual_hosts"]:
            if request.host in host["domains"] or "*" in host["domains"]:
                yield from host["routes"]
                return


def _led_to(action: Tree) -> list[tuple[str, int]]:
    if "cluster" in action:
        return [(action["cluster"], 1)]
    weighted = action["weighted_clusters"]
    found = [(entry["name"], entry.get("weight", 0)) for entry in weighted["clusters"]]
    assert weighted.get("total_weight") in (None, sum(weight for _, weight in found))
    return found


def _fits(match: Tree, request: Request) -> bool:
    if "path" in match:
        path = request.path == match["path"]
    elif "safe_regex" in match:
        path = whole(match["safe_regex"]["regex"], request.path)
    elif "path_separated_prefix" in match:
        path = below(match["path_separated_prefix"], request.path)
    else:
        path = request.path.startswith(match["prefix"])
    names = {**request.headers, ":method": request.method}
    return (
        path
        and all(_holds(c, names.get(c["name"].lower())) for c in match.get("headers", ()))
        and all(_holds(c, request.query.get(c["name"])) for c in match.get("query_parameters", ()))
    )


def _holds(condition: Tree, value: str | None) -> bool:
    if "present_match" in condition:
        holds = (value is not None) == condition["present_match"]
    elif "exact" in condition["string_match"]:
        holds = bool(value == condition["string_match"]["exact"])
    else:
        holds = whole(condition["string_match"]["safe_regex"]["regex"], value)
    return bool(holds) != bool(condition.get("invert_match"))
