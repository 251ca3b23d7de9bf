"""The editor's stubs agree with the real input of scripts."""

import re
from pathlib import Path

import msgspec
import pytest

from controller.api.rollout import (
    HeaderModifier,
    HttpRouteMatch,
    NameValue,
    PatchMetadata,
    PathMatch,
    ValueMatch,
)
from controller.cli.script_tools.lua_syntax import syntax_of
from controller.domain.decision import Reference, RoutePlan
from controller.domain.traffic.plan.script_input import script_input, sibling_of
from controller.domain.traffic.tree import Json, Tree, decode_tree
from controller.domain.traffic.validation.ingress import class_input

STUBS = Path(__file__).resolve().parents[3] / "editors" / "lua" / "library" / "obj.lua"
REFERENCE = Reference("g.example.com/v1", "K", "n", "web", "web-canary")
ORIGINAL: Tree = {"spec": {}, "labels": {"a": "b"}, "annotations": {"a": "b"}}
PAIR = NameValue("a", "b")
VALUE = ValueMatch("Exact", "a", "b")
PLAN = RoutePlan(
    "", "ns", "r", "1", (REFERENCE,), 20.0,
    (HttpRouteMatch(PathMatch("Exact", "/"), (VALUE,), (VALUE,), "GET"),),
    HeaderModifier((PAIR,), (PAIR,), ("x",)),
    PatchMetadata({"a": "b"}, {"a": "b"}),
    announces=True, stable_labels={"a": "b"},
)  # fmt: skip


def fields() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    current: set[str] = set()
    for line in STUBS.read_text().splitlines():
        if named := re.match(r"---@class moonshift\.(\w+)(?:: moonshift\.(\w+))?", line):
            current = set(found[named[2]]) if named[2] else set()
            found[named[1]] = current
        elif re.match(r"---@class", line):
            current = set()
        elif field := re.match(r"---@field (\w+)", line):
            current.add(field[1])
    return found


def keys(value: Json) -> set[str]:
    assert isinstance(value, dict)
    return set(value)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("Obj", ()),
        ("Data", ("data",)),
        ("Match", ("matches", 0)),
        ("PathMatch", ("matches", 0, "path")),
        ("ValueMatch", ("matches", 0, "headers", 0)),
        ("ValueMatch", ("matches", 0, "queryParams", 0)),
        ("HeaderModifier", ("requestHeaderModifier",)),
        ("NameValue", ("requestHeaderModifier", "set", 0)),
        ("PodMetadata", ("patchPodMetadata",)),
        ("Object", ("object",)),
        ("Sibling", ("siblings", 0)),
    ],
)
def test_stubs_have_the_fields_of_the_input(name: str, path: tuple[str | int, ...]) -> None:
    sibling = sibling_of(REFERENCE, PLAN, ORIGINAL)
    value: Json = decode_tree(script_input(REFERENCE, PLAN, ORIGINAL, (sibling,)))
    for part in path:
        value = value[part]  # type: ignore[index]
    assert fields()[name] == keys(value)


def test_stubs_of_ingress_classes_too() -> None:
    reference = msgspec.structs.replace(REFERENCE, class_type="nginx")
    backend: Tree = {"service": {"name": reference.stable_service}}
    content: Tree = {**ORIGINAL, "spec": {"defaultBackend": backend}}
    input_ = class_input(reference, msgspec.structs.replace(PLAN, announces=False), content)
    assert isinstance(input_, bytes)
    given = decode_tree(input_)
    assert fields()["IngressObj"] == keys(given)
    assert given["weight"] == "20"


def test_stubs_are_lua() -> None:
    assert syntax_of(STUBS.read_bytes()).statements
