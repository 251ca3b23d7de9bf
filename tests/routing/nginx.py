"""NGINX: VirtualServer's routes by path with their matches in order; and canary annotations of ingress-nginx."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tests.routing.model import Request, Shares, Tree, divided, within

PREFIX = "nginx.ingress.kubernetes.io/"


def virtual_server(spec: Tree, request: Request) -> Shares:
    """The longest path that fits; inside it the first match whose conditions hold, else the route itself."""
    services = {upstream["name"]: upstream["service"] for upstream in spec["upstreams"]}
    fitting = [route for route in spec.get("routes", ()) if request.path.startswith(route["path"])]
    if not fitting:
        return {}
    route = max(fitting, key=lambda entry: len(entry["path"]))
    for match in route.get("matches", ()):
        if all(_condition(c, request) for c in match["conditions"]):
            return _to(match, services)
    return _to(route, services)


def virtual_server_route(spec: Tree, request: Request) -> Shares:
    """VirtualServerRoute: its subroutes are judged as the routes of a VirtualServer."""
    return virtual_server({**spec, "routes": spec["subroutes"]}, request)


def _to(entry: Tree, services: Mapping[str, str]) -> Shares:
    if "splits" in entry:
        assert sum(split["weight"] for split in entry["splits"]) == 100
        return divided((services[_upstream(s["action"])], s["weight"]) for s in entry["splits"])
    return {services[_upstream(entry["action"])]: Fraction(1)}


def _upstream(action: Tree) -> str:
    return str(action["pass"] if "pass" in action else action["proxy"]["upstream"])


def _condition(condition: Tree, request: Request) -> bool:
    if "header" in condition:
        value = request.headers.get(condition["header"].lower())
    elif "cookie" in condition:
        value = request.cookies.get(condition["cookie"])
    elif "argument" in condition:
        value = request.query.get(condition["argument"])
    else:
        value = {"$request_method": request.method}[condition["variable"]]
    wanted = condition["value"]
    if wanted.startswith("~"):
        return within(wanted[1:], value)
    return value is not None and value.lower() == wanted.lower()


def with_canaries(ingress: Tree, beside: Sequence[Tree], request: Request) -> Shares:
    """ingress-nginx: of a path's canary Ingress the header decides, then the cookie, then the weight."""
    stable = _service_of(ingress["spec"], request)
    if stable is None:
        return {}
    for canary in beside:
        other = _service_of(canary["spec"], request)
        if other is None or other[0] != stable[0]:
            continue
        share = _canary_share(canary["metadata"]["annotations"], request)
        shares = {stable[1]: 1 - share, other[1]: share}
        return {name: part for name, part in shares.items() if part}
    return {stable[1]: Fraction(1)}


def _service_of(spec: Tree, request: Request) -> tuple[str, str] | None:
    paths = [
        (path["path"], path["backend"]["service"]["name"])
        for rule in spec["rules"]
        for path in rule["http"]["paths"]
        if request.path.startswith(path["path"])
    ]
    return max(paths, key=lambda found: len(found[0]), default=None)


def _canary_share(annotations: Mapping[str, str], request: Request) -> Fraction:
    said = {name.removeprefix(PREFIX): value for name, value in annotations.items()}
    assert said["canary"] == "true"
    if "canary-by-header" in said:
        value = request.headers.get(said["canary-by-header"].lower())
        if "canary-by-header-value" in said and value == said["canary-by-header-value"]:
            return Fraction(1)
        if "canary-by-header-pattern" in said and within(said["canary-by-header-pattern"], value):
            return Fraction(1)
    if "canary-by-cookie" in said and request.cookies.get(said["canary-by-cookie"]) == "always":
        return Fraction(1)
    return Fraction(
        int(said.get("canary-weight", "0")), int(said.get("canary-weight-total", "100"))
    )
