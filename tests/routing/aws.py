"""AWS load balancer controller: actions and conditions in annotations, by the name of a path's backend.

Guide, "Ingress specification" (2.7): exact paths first, then prefixes, the longest first; equal ones in the order of
the manifest. "Annotations" (2.14): `actions.<name>` where the port is use-annotation, with target groups by weight (0
to 999); `conditions.<name>` hold all together, values of one are alternatives; * and ? stand for letters in values of
headers and parameters, values of headers are compared without regard to case; `regexValues` are searched for. Rules
of one Ingress come in the order of its rules.
"""

import json
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from tests.routing.ingress import Place, annotations_of, places
from tests.routing.model import Request, Shares, Tree, divided

PREFIX = "alb.ingress.kubernetes.io/"


def ingresses(objects: Sequence[Tree], request: Request) -> Shares:
    """The first rule of the load balancer that fits."""
    (ingress,) = objects
    given = annotations_of(ingress, PREFIX)
    for place in _ordered(ingress):
        conditions = json.loads(given.get(f"conditions.{place.service}", "[]"))
        if place.fits(request) and all(_holds(one, request) for one in conditions):
            if place.port != "use-annotation":
                return {place.service: Fraction(1)}
            groups = json.loads(given[f"actions.{place.service}"])["forwardConfig"]["targetGroups"]
            assert all(0 <= group.get("weight", 1) <= 999 for group in groups)
            return divided((group["serviceName"], group.get("weight", 1)) for group in groups)
    return {}


def _ordered(ingress: Tree) -> Iterator[Place]:
    for rule in ingress["spec"]["rules"]:
        one = {**ingress, "spec": {"rules": [rule]}}
        yield from sorted(places([one]), key=lambda place: place.by_path, reverse=True)


def _holds(condition: dict[str, Any], request: Request) -> bool:
    match condition["field"]:
        case "http-header":
            config = condition["httpHeaderConfig"]
            value = request.headers.get(config["httpHeaderName"].lower())
            if value is None:
                return False
            return any(_like(v, value, re.IGNORECASE) for v in config.get("values", ())) or any(
                re.search(v, value) for v in config.get("regexValues", ())
            )
        case "query-string":
            pairs = condition["queryStringConfig"]["values"]
            found = ((request.query.get(pair["key"]), pair["value"]) for pair in pairs)
            return any(value is not None and _like(wanted, value) for value, wanted in found)
        case "http-request-method":
            return request.method in condition["httpRequestMethodConfig"]["values"]
        case other:
            raise AssertionError(other)


def _like(wanted: str, value: str, flags: int = 0) -> bool:
    """`*` is any letters, `?` is one; a backslash makes them letters."""
    signs = {"*": ".*", "?": "."}
    parts = re.findall(r"\\.|.", wanted)
    pattern = "".join(signs.get(part) or re.escape(part[-1]) for part in parts)
    return re.fullmatch(pattern, value, flags) is not None
