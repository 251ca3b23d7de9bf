"""HAProxy Ingress: paths with header matches are looked at before all others, however long the others are.

Configuration keys of v0.15 and later, "HTTP Match": names without regard to case, values with; "Anchors are not added"
to expressions; "all of them must evaluate to true". pkg/haproxy/types/maps.go there (`rebuildMatchFiles`): "Add entries
with filters as high priority"; of one set of filters the longer path comes first, of different sets no order is given.
Key `strict-host`: the paths of the request's own host are tried first, then those of every host.
"""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from tests.routing.ingress import Place, annotations_of, places
from tests.routing.model import Request, Shares, Tree, within

PREFIX = "haproxy-ingress.github.io/"
Filters = tuple[tuple[str, str, bool], ...]


def ingresses(objects: Sequence[Tree], request: Request) -> Shares:
    """Different sets of filters have to give the same answer: their order is not defined."""
    found = [place for place in places(objects) if place.fits(request)]
    for host in (request.host, ""):
        sets: dict[Filters, list[Place]] = defaultdict(list)
        for place in found:
            filters = _filters(place.ingress)
            if place.host == host and all(_holds(one, request) for one in filters):
                sets[filters].append(place)
        plain = sets.pop((), [])
        answers = {_first(each) for each in sets.values()} or {
            _first(each) for each in [plain] if each
        }
        assert len(answers) <= 1, "the order of these filters is not defined"
        if answers:
            return {answers.pop(): Fraction(1)}
    return {}


def _first(group: Sequence[Place]) -> str:
    return max(group, key=lambda place: place.by_path).service


def _filters(ingress: Tree) -> Filters:
    given = annotations_of(ingress, PREFIX)
    found: list[tuple[str, str, bool]] = []
    for key, regex in (("http-header-match", False), ("http-header-match-regex", True)):
        for line in given.get(key, "").splitlines():
            name, _, value = line.partition(": ")
            found.append((name.lower(), value, regex))
    return tuple(sorted(found))


def _holds(one: tuple[str, str, bool], request: Request) -> bool:
    name, wanted, regex = one
    value = request.headers.get(name)
    return within(wanted, value) if regex else value == wanted
