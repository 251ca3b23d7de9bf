"""Traefik: a rule is a text of matchers; the highest priority wins, by default the length of the text."""

import re
from collections.abc import Callable

from tests.routing.model import HOST, Request, Served, Shares, Tree, divided, within

TOKEN = re.compile(r"\s*(&&|\|\||!|\(|\)|,|`[^`]*`|\w+)")
Test = Callable[[Request], bool]


def ingress_route(spec: Tree, request: Request) -> Shares:
    """Routes by priority; an absent weight is 1."""
    answer = served(spec, request)
    return answer.shares if answer else {}


def served(spec: Tree, request: Request) -> Served | None:
    """The middlewares of the route are what else is done; of equal routes, either may win."""
    fitting = [route for route in spec["routes"] if Rule(route["match"]).test(request)]
    if not fitting:
        return None
    best = max(map(_priority, fitting))
    answers = [
        Served(
            divided((s["name"], s.get("weight", 1)) for s in route["services"]),
            request.path,
            route.get("middlewares"),
        )
        for route in fitting
        if _priority(route) == best
    ]
    if any(answer != answers[0] for answer in answers):
        raise Undefined
    return answers[0]


class Undefined(Exception):
    """Several routes have the same priority."""


def _priority(route: Tree) -> int:
    return int(route.get("priority") or len(route["match"]))


def weighted_service(spec: Tree, _: Request) -> Shares:
    """TraefikService: a list with weights."""
    return divided((s["name"], s.get("weight", 1)) for s in spec["weighted"]["services"])


def layer_four(spec: Tree, _: Request) -> Shares:
    """IngressRouteTCP, IngressRouteUDP: one route, nothing of a request to look at."""
    return divided((s["name"], s.get("weight", 1)) for s in spec["routes"][0]["services"])


class Rule:
    """Reads the rule language: && binds closer than ||."""

    def __init__(self, text: str) -> None:
        self._tokens = TOKEN.findall(text)
        self._at = 0
        self.test = self._either()
        assert self._at == len(self._tokens), text

    def _take(self) -> str:
        self._at += 1
        return str(self._tokens[self._at - 1])

    def _next_is(self, token: str) -> bool:
        if self._tokens[self._at : self._at + 1] != [token]:
            return False
        self._at += 1
        return True

    def _either(self) -> Test:
        tests = [self._both()]
        while self._next_is("||"):
            tests.append(self._both())
        return lambda request: any(test(request) for test in tests)

    def _both(self) -> Test:
        tests = [self._one()]
        while self._next_is("&&"):
            tests.append(self._one())
        return lambda request: all(test(request) for test in tests)

    def _one(self) -> Test:
        if self._next_is("!"):
            inner = self._one()
            return lambda request: not inner(request)
        if self._next_is("("):
            inner = self._either()
            assert self._next_is(")")
            return inner
        name, arguments = self._take(), []
        assert self._next_is("(")
        while not self._next_is(")"):
            if not self._next_is(","):
                arguments.append(self._take().strip("`"))
        return _matcher(name, arguments)


def _matcher(name: str, given: list[str]) -> Test:
    first, value = given[0], given[-1]
    known: dict[str, Test] = {
        "Host": lambda r: first == HOST,
        "Path": lambda r: r.path == first,
        "PathPrefix": lambda r: r.path.startswith(first),
        "PathRegexp": lambda r: within(first, r.path),
        "Method": lambda r: r.method == first,
        "Header": lambda r: r.headers.get(first.lower()) == value,
        "HeaderRegexp": lambda r: within(value, r.headers.get(first.lower())),
        "Query": lambda r: r.query.get(first) == value,
        "QueryRegexp": lambda r: within(value, r.query.get(first)),
    }
    return known[name]
