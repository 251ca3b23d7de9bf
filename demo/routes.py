"""The gateway objects as a person wants to see them: the changed lines, and the share of each version.

Invariant: a line that is in both is shown once, in its place. It must do no I/O.
"""

import difflib
from collections.abc import Iterator
from typing import Any, NamedTuple

from demo.claims import as_yaml
from localcluster.api import JsonObject

MAIN_FIELDS = ("http", "subsets")
WHOLE = 100


class Line(NamedTuple):
    """One line of a difference; `sign` is `+`, `-` or a blank."""

    sign: str
    text: str


class Share(NamedTuple):
    """The share of some requests that goes to one target; `when` is empty for all other requests."""

    when: str
    subset: str
    percent: int


def difference(original: JsonObject, current: JsonObject) -> list[Line]:
    """The fields of routes, and every other field that differs from the original, line by line."""
    fields = [f for f in current | original if f in MAIN_FIELDS or _differ(f, original, current)]
    old, new = ({f: tree[f] for f in fields if f in tree} for tree in (original, current))
    lines = difflib.ndiff(as_yaml(old) if old else [], as_yaml(new) if new else [])
    return [Line(line[0], line[2:]) for line in lines if line[0] != "?"]


def shares(http: list[Any]) -> Iterator[Share]:
    """The targets of requests, rule by rule."""
    for rule in http:
        route = rule["route"]
        total = sum(entry.get("weight", WHOLE) for entry in route) or 1
        for entry in route:
            percent = round(WHOLE * entry.get("weight", WHOLE) / total)
            yield Share(condition(rule), entry["destination"].get("subset", ""), percent)


def condition(rule: JsonObject) -> str:
    """The headers that a rule asks for, in words."""
    return ", ".join(
        f"{name}: {next(iter(value.values()))}"
        for match in rule.get("match") or ()
        for name, value in (match.get("headers") or {}).items()
    )


def _differ(field: str, original: JsonObject, current: JsonObject) -> bool:
    return original.get(field) != current.get(field)
