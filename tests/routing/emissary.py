"""Emissary (Ambassador): Mappings that match alike share requests; the more constrained group is asked first.

"Advanced Mapping configuration" (1.14, 3.8): highly constrained ones come first; the prefix length, the method, headers
and parameters count. How, says python/ambassador/ir/irhttpmapping.py of emissary-ingress (`_route_weight`): precedence,
then the length of the prefix, then what the names and values of all headers are long together (host and method are
headers), then the same of parameters. "Canary releases" (3.1): a weight is a percentage, those without one have the
rest. Prefixes are of characters; an expression fits the whole path ("Prefix regex", 1.14).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tests.routing.model import Request, Served, Shares, Tree, whole, with_letters

Group = tuple[Any, ...]


def mappings(spec: Tree, request: Request) -> Shares:
    """All Mappings of a gateway, under `mappings`."""
    answer = served(spec, request)
    return answer.shares if answer else {}


def served(spec: Tree, request: Request) -> Served | None:
    """A group does with a request the same as each Mapping that has a share of the group.

    "Rewrites" (3.x): without `rewrite` the prefix is replaced by /, letters for letters; an empty one replaces nothing;
    with `prefix_regex` it is ignored. `regex_rewrite` replaces what its pattern finds.
    """
    fitting = [one for one in spec["mappings"] if _fits(one, request)]
    if not fitting:
        return None
    first = max(fitting, key=_rank)
    group = [one for one in fitting if _group(one) == _group(first)]
    sorts = {(one.get("prefix_exact", False), one.get("prefix_regex", False)) for one in group}
    assert len(sorts) == 1, (
        "Emissary takes Mappings with one prefix for one group, whatever sort it is of"
    )
    full = any(one.get("weight") == 100 for one in group)
    serving = [one for one in group if one.get("weight") == 100 or not full]
    done = {(_rewritten(one, request.path), one.get("timeout_ms")) for one in serving}
    assert len(done) == 1, "Mappings of one group do different things"
    return Served(_divided(group), *done.pop())


def _rewritten(mapping: Tree, path: str) -> str:
    if "regex_rewrite" in mapping:
        change = mapping["regex_rewrite"]
        return re.sub(change["pattern"], change["substitution"], path)
    text = mapping.get("rewrite", "/")
    if mapping.get("prefix_regex") or text == "":
        return path
    return with_letters(path, path if mapping.get("prefix_exact") else mapping["prefix"], text)


def _divided(group: Sequence[Tree]) -> Shares:
    annotations_of = sum(one.get("weight", 0) for one in group)
    assert annotations_of <= 100, "Emissary refuses a group whose weights are more than 100"
    others = [one for one in group if "weight" not in one]
    shares: Shares = {}
    for one in group:
        rest = Fraction(100 - annotations_of, len(others)) if others else Fraction(0)
        part = Fraction(one["weight"]) if "weight" in one else rest
        name = _service(one)
        shares[name] = shares.get(name, Fraction(0)) + part / 100
    return {name: part for name, part in shares.items() if part}


def _service(mapping: Tree) -> str:
    return str(mapping["service"]).rpartition("://")[2].partition(":")[0].partition(".")[0]


def _headers(mapping: Tree) -> list[tuple[str, str, bool]]:
    found = [(n, v, False) for n, v in mapping.get("headers", {}).items()]
    found += [(n, v, True) for n, v in mapping.get("regex_headers", {}).items()]
    if "hostname" in mapping:
        found.append((":authority", mapping["hostname"], False))
    if "method" in mapping:
        found.append((":method", mapping["method"], False))
    return found


def _parameters(mapping: Tree) -> list[tuple[str, str, bool]]:
    exact, regex = mapping.get("query_parameters", {}), mapping.get("regex_query_parameters", {})
    return [*((n, v, False) for n, v in exact.items()), *((n, v, True) for n, v in regex.items())]


def _length(conditions: Iterable[tuple[str, str, bool]]) -> int:
    return sum(len(name) + len(value) + regex for name, value, regex in conditions)


def _rank(mapping: Tree) -> tuple[int, int, int, int]:
    lengths = _length(_headers(mapping)), _length(_parameters(mapping))
    return mapping.get("precedence", 0), len(mapping["prefix"]), *lengths


def _group(mapping: Tree) -> Group:
    annotations_of = mapping["prefix"], mapping.get("precedence", 0)
    return *annotations_of, sorted(_headers(mapping)), sorted(_parameters(mapping))


def _fits(mapping: Tree, request: Request) -> bool:
    names = {**request.headers, ":authority": request.host, ":method": request.method}
    return (
        _path(mapping, request.path)
        and all(_holds(names.get(n.lower()), v, r) for n, v, r in _headers(mapping))
        and all(_holds(request.query.get(n), v, r) for n, v, r in _parameters(mapping))
    )


def _path(mapping: Mapping[str, Any], path: str) -> bool:
    prefix = str(mapping["prefix"])
    if mapping.get("prefix_regex"):
        return whole(prefix, path)
    return path == prefix if mapping.get("prefix_exact") else path.startswith(prefix)


def _holds(value: str | None, wanted: str, regex: bool) -> bool:
    return whole(wanted, value) if regex else value == wanted
