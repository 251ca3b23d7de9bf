"""Label and field selectors, as lists and watches take them.

Invariant: a selector that is not understood is refused, never ignored: a list that selects too much looks like a list
that works.
"""

import re
from collections.abc import Callable

from controller.api.jsontree import JsonObject, child
from controller.errors import Invalid

Selects = Callable[[JsonObject], bool]

_SET = re.compile(r"^(?P<key>[\w./-]+)\s+(?P<not>not)?in\s+\((?P<values>[^)]*)\)$")
_REQUIREMENTS = re.compile(r",(?![^(]*\))")


def selects(label_selector: str, field_selector: str) -> Selects:
    """Whether an object is selected by both; Invalid for a selector that cannot be read."""
    requirements = [
        *(_label(part.strip()) for part in _REQUIREMENTS.split(label_selector) if part.strip()),
        *(_field(part.strip()) for part in field_selector.split(",") if part.strip()),
    ]
    return lambda obj: all(requirement(obj) for requirement in requirements)


def _label(part: str) -> Selects:
    if found := _SET.match(part):
        values = {value.strip() for value in found["values"].split(",")}
        key, negated = found["key"], bool(found["not"])
        # A label that is absent is "not in" every set.
        return lambda obj: (_labels(obj).get(key) in values) is not negated
    if "!=" in part:
        key, value = part.split("!=", 1)
        return lambda obj: _labels(obj).get(key) != value
    if "=" in part:
        key, value = part.replace("==", "=", 1).split("=", 1)
        return lambda obj: _labels(obj).get(key) == value
    if part.startswith("!"):
        return lambda obj: part[1:] not in _labels(obj)
    if not re.fullmatch(r"[\w./-]+", part):
        raise Invalid(f"unable to parse requirement: {part}", status=400, reason="BadRequest")
    return lambda obj: part in _labels(obj)


def _field(part: str) -> Selects:
    path, operator, value = part.replace("==", "=").partition("=")
    if not operator:
        raise Invalid(f"invalid field selector: {part}", status=400, reason="BadRequest")
    negated = path.endswith("!")
    *way, last = path.removesuffix("!").split(".")
    return lambda obj: (str(child(obj, *way).get(last, "")) == value) is not negated


def _labels(obj: JsonObject) -> JsonObject:
    return child(obj, "metadata", "labels")
