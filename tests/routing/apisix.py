"""Apache APISIX: exact paths before prefixes, longer before shorter, then the higher priority."""

from tests.routing.model import Request, Served, Shares, Tree, divided, within

ABSENT_WEIGHT = 100


def apisix_route(spec: Tree, request: Request) -> Shares:
    """Rules of which one path, the methods and all expressions fit."""
    answer = served(spec, request)
    return answer.shares if answer else {}


def served(spec: Tree, request: Request) -> Served | None:
    """The plugins of the rule are what else is done; of equal rules, either may win."""
    fitting = [
        ((_specificity(path), rule.get("priority", 0)), rule)
        for rule in spec["http"]
        for path in rule["match"]["paths"]
        if _path(path, request.path) and _rest(rule["match"], request)
    ]
    if not fitting:
        return None
    best = max(rank for rank, _ in fitting)
    answers = [_answer(rule, request) for rank, rule in fitting if rank == best]
    if any(answer != answers[0] for answer in answers):
        raise Undefined
    return answers[0]


class Undefined(Exception):
    """Several rules have the same path and priority."""


def _answer(rule: Tree, request: Request) -> Served:
    shares = divided((b["serviceName"], b.get("weight", ABSENT_WEIGHT)) for b in rule["backends"])
    return Served(shares, request.path, rule.get("plugins"))


def _specificity(path: str) -> tuple[bool, int]:
    return not path.endswith("*"), len(path)


def _path(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def _rest(match: Tree, request: Request) -> bool:
    methods = match.get("methods") or (request.method,)
    return request.method in methods and all(_expr(e, request) for e in match.get("exprs", ()))


def _expr(expr: Tree, request: Request) -> bool:
    subject = expr["subject"]
    scopes = {"Header": request.headers, "Query": request.query, "Cookie": request.cookies}
    name = subject.get("name", "")
    value: str | None = request.path
    if subject["scope"] != "Path":
        value = scopes[subject["scope"]].get(name.lower() if subject["scope"] == "Header" else name)
    if expr["op"] == "Equal":
        return bool(value == expr["value"])
    return within(expr["value"], value)
