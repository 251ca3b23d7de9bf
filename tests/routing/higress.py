"""Higress: sort of the path, its length, method, headers, parameters; a canary Ingress joins the route of its path.

pkg/ingress/kube/common/tool.go of alibaba/higress (`SortHTTPRoutes`): a catch-all without conditions last, then "path
type => path length => methods => header => query param". annotations/match.go: `<sort>-match-header-<name>` and
`<sort>-match-query-<name>` hold together; expressions fit the whole value (Envoy). annotations/canary.go: a canary
Ingress has a header, else a cookie, else a weight of 100. annotations/destination.go: `destination` is where all paths
of the Ingress lead.
"""

from collections.abc import Sequence
from fractions import Fraction

from tests.routing.ingress import Place, annotations_of, own_host, places
from tests.routing.model import Request, Shares, Tree, divided, whole

HIGRESS, NGINX = "higress.io/", "nginx.ingress.kubernetes.io/"
Condition = tuple[str, str, str, str]


def ingresses(objects: Sequence[Tree], request: Request) -> Shares:
    """The first route, divided with the canary Ingresses of the same host, path and conditions."""
    found = [place for place in places(objects) if place.fits(request)]
    canaries = [place for place in found if "canary" in annotations_of(place.ingress, NGINX)]
    plain = [p for p in own_host(found, request) if p not in canaries and _fits(p, request)]
    if not plain:
        return {}
    route = max(plain, key=_rank)
    key = (route.host, route.path, route.exact, _conditions(route))
    beside = [p for p in canaries if (p.host, p.path, p.exact, _conditions(p)) == key]
    return _shares(route, beside)


def _conditions(place: Place) -> tuple[Condition, ...]:
    found: list[Condition] = []
    for key, value in annotations_of(place.ingress, HIGRESS).items():
        for sort in ("exact", "regex", "prefix"):
            for what in ("header", "query"):
                start = f"{sort}-match-{what}-"
                if key.startswith(start):
                    found.append((what, sort, key.removeprefix(start), value))
    return tuple(sorted(found))


def _rank(place: Place) -> tuple[bool, bool, int, int, int]:
    conditions = _conditions(place)
    headers = sum(what == "header" for what, *_ in conditions)
    catch_all = place.path == "/" and not place.exact and not conditions
    return not catch_all, *place.by_path, headers, len(conditions) - headers


def _fits(place: Place, request: Request) -> bool:
    return all(_holds(condition, request) for condition in _conditions(place))


def _holds(condition: Condition, request: Request) -> bool:
    what, sort, name, wanted = condition
    value = request.headers.get(name.lower()) if what == "header" else request.query.get(name)
    if sort == "regex":
        return whole(wanted, value)
    return value == wanted if sort == "exact" else (value or "").startswith(wanted)


def _shares(route: Place, beside: Sequence[Place]) -> Shares:
    lines = annotations_of(route.ingress, HIGRESS).get("destination", "").splitlines()
    if lines:
        assert not beside
        parts = [line.split() for line in lines]
        return divided((to.partition(".")[0], int(share.rstrip("%"))) for share, to in parts)
    shares = {route.service: Fraction(1)}
    for place in beside:
        weight = Fraction(int(annotations_of(place.ingress, NGINX)["canary-weight"]), 100)
        shares[route.service] -= weight
        shares[place.service] = weight
    return {name: part for name, part in shares.items() if part}
