"""Reads raw JSON objects that a schema has validated; missing parts read as empty.

Why raw JSON at all: conversion and admission hand an object back, so every field that Moonshift does not know must
survive. Invariant: nothing here changes its arguments.
"""

import msgspec

JsonObject = dict[str, object]
"""A decoded JSON object. Parts are read through the functions below, which answer for missing and null parts."""

_GO_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def child(tree: object, *path: str) -> JsonObject:
    """The object at `path`, or an empty one if there is none. Not to be written to."""
    for name in path:
        if not isinstance(tree, dict):
            return {}
        tree = tree.get(name)
    return tree if isinstance(tree, dict) else {}


def items(tree: object, name: str) -> list[object]:
    """The list called `name` in `tree`, or an empty one. Not to be written to."""
    value = tree.get(name) if isinstance(tree, dict) else None
    return value if isinstance(value, list) else []


def text(tree: object, *path: str) -> str:
    """The string at `path`, or an empty one."""
    value = child(tree, *path[:-1]).get(path[-1])
    return value if isinstance(value, str) else ""


def number(tree: object, *path: str) -> int | None:
    """The integer at `path`, or None."""
    value = child(tree, *path[:-1]).get(path[-1])
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_go_writes(json: str) -> str:
    """The JSON text with the characters escaped that Go's encoder escapes: Go programs hash and compare it."""
    for character, escape in _GO_ESCAPES.items():
        json = json.replace(character, escape)
    return json


def canonical(value: object) -> bytes:
    """The canonical JSON text of a value; values equal in Python but not in JSON (1, true, 1.0) stay different."""
    return msgspec.json.encode(value, order="sorted")


def same(one: object, other: object) -> bool:
    """Whether both are the same JSON value."""
    return canonical(one) == canonical(other)


def changed(tree: JsonObject, path: tuple[str, ...], value: object) -> JsonObject:
    """A copy of `tree` with `value` at `path`; missing objects on the way are created, and None removes the entry.

    Only the objects along the path are copied. Removing a missing entry creates nothing.
    """
    name, rest = path[0], path[1:]
    copy = dict(tree)
    if rest:
        if value is None and not isinstance(tree.get(name), dict):
            return copy
        copy[name] = changed(child(tree, name), rest, value)
    elif value is None:
        copy.pop(name, None)
    else:
        copy[name] = value
    return copy
