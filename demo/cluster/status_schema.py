"""Makes the schemas of our own parts of a status from the types that the controller writes.

Why it exists: a field that the type has and the CRD lacks is dropped by the API server, and one that only the CRD has
is read by nobody. Invariant: every part has a type and a bound, and none keeps unknown fields; a description that is in
the CRD stays, and a new field gets the first sentence of its type. `python -m demo.cluster.status_schema` writes the
files.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import inspect as types

from controller.api.history import HistoryStep
from controller.api.rollout import MoonshiftStatus
from controller.api.trafficrouting import TrafficRoutingStatus
from demo.stage import CRDS

Json = dict[str, Any]

MOST_ITEMS = 1000
LONGEST = 65536
LONGEST_OF_OTHERS = 262144
"""Texts that come out of annotations: the API server allows no longer ones."""
FROM_ANNOTATIONS = frozenset({"ownersRecord", "keptTemplate", "stamp", "release"})
FEWER = {"autoscalersHeldAt": 2, "matches": 16}
"""Items of lists that are shorter."""
MADE: tuple[tuple[str, str, type[msgspec.Struct], str], ...] = (
    ("rollouts.yaml", "moonshift", MoonshiftStatus, ""),
    ("trafficroutings.yaml", "emptySides", TrafficRoutingStatus, "emptySides"),
    ("trafficroutings.yaml", "descent", TrafficRoutingStatus, "descent"),
    ("trafficroutings.yaml", "namedContent", TrafficRoutingStatus, "namedContent"),
    ("trafficroutings.yaml", "members", TrafficRoutingStatus, "members"),
    ("trafficroutings.yaml", "written", TrafficRoutingStatus, "written"),
    ("rollouthistories.yaml", "matches", HistoryStep, "matches"),
)
"""File, name of a part in it, and its type: a whole one, or one field of it."""


def files() -> dict[Path, str]:
    """Return each CRD with its text."""
    found: dict[Path, str] = {}
    for name, part, kind, field in MADE:
        path = CRDS / name
        text = found.get(path) or path.read_text()
        found[path] = _with_part(text, part, _part_of(kind, field))
    return found


def _part_of(kind: type[msgspec.Struct], field: str) -> Json:
    if not field:
        return schema(types.type_info(kind), "")
    info = types.type_info(kind)
    assert isinstance(info, types.StructType)
    return next(schema(one.type, field) for one in info.fields if one.encode_name == field)


def schema(info: types.Type, name: str) -> Json:
    """The schema of a type; `name` is the field that has it."""
    match info:
        case types.UnionType():
            return _of_union(info, name)
        case types.StructType(cls=cls):
            words = _descriptions(cls)
            return {
                "type": "object",
                "properties": {
                    one.encode_name: {
                        "description": words.get(one.name, ""),
                        **schema(one.type, one.encode_name),
                    }
                    for one in info.fields
                },
            }
        case types.DictType(value_type=value):
            most = {"maxProperties": MOST_ITEMS}
            return {"type": "object", **most, "additionalProperties": schema(value, "")}
        case types.VarTupleType(item_type=item):
            most = {"maxItems": FEWER.get(name, MOST_ITEMS)}
            return {"type": "array", **most, "items": schema(item, "")}
        case _:
            return _of_scalar(info, name)


def _of_scalar(info: types.Type, name: str) -> Json:
    match info:
        case types.StrType() | types.EnumType():
            longest = LONGEST_OF_OTHERS if name in FROM_ANNOTATIONS else LONGEST
            return {"type": "string", "maxLength": longest}
        case types.IntType():
            return {"type": "integer", "format": "int64", "minimum": 0, "maximum": 2**53}
        case types.BoolType():
            return {"type": "boolean"}
        case types.DateTimeType():
            return {"type": "string", "format": "date-time", "maxLength": 64}
        case _:
            raise TypeError(f"{name}: no schema for {info}")


def _of_union(info: types.UnionType, name: str) -> Json:
    parts = [one for one in info.types if not isinstance(one, types.NoneType)]
    empty = {"nullable": True} if info.includes_none else {}
    if len(parts) == 1:
        return {**schema(parts[0], name), **empty}
    kinds = {type(one) for one in parts}
    if kinds == {types.IntType, types.StrType}:
        return {"x-kubernetes-int-or-string": True, "maxLength": 64, **empty}
    if kinds == {types.FloatType, types.StrType}:
        # No type of a schema is a number or a text. Without one, these limits leave no object and no list.
        flat = {"maxLength": 64, "maxProperties": 0, "maxItems": 0}
        return {"x-kubernetes-preserve-unknown-fields": True, **flat, **empty}
    raise TypeError(f"{name}: no schema for {info}")


def _descriptions(kind: type) -> dict[str, str]:
    """The first sentence under each field in the source."""
    tree = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for field, under in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            said = under.value if isinstance(under, ast.Expr) else None
            text = said.value if isinstance(said, ast.Constant) else None
            if isinstance(text, str):
                found[field.target.id] = " ".join(text.split()).partition(". ")[0].rstrip(".") + "."
    return found


# --- the text of a CRD ----------------------------------------------------------------------------


def _with_part(text: str, part: str, made: Json) -> str:
    """The CRD with the schema in place of each part of this name that is in a status."""
    lines = text.splitlines(keepends=True)
    result: list[str] = []
    in_status, at = False, 0
    while at < len(lines):
        line = lines[at]
        result.append(line)
        at += 1
        if line.startswith(" " * 12) and not line.startswith(" " * 13):
            in_status = line.strip() == "status:"
        if not in_status or line.strip() != f"{part}:":
            continue
        indent = len(line) - len(line.lstrip())
        end = at
        while end < len(lines) and len(lines[end]) - len(lines[end].lstrip()) > indent:
            end += 1
        present = yaml.safe_load("".join(lines[at:end]))
        result += _lines(_described(made, present, part), indent + 2)
        at = end
    return "".join(result)


def _described(made: Json, present: object, name: str) -> Json:
    """The schema with the descriptions that are there already, which come first."""
    before = present if isinstance(present, dict) else {}
    words = before.get("description") or made.get("description", "")
    result: Json = {"description": words} if words else {}
    for key, value in made.items():
        if key == "properties":
            inner = before.get(key, {})
            value = {one: _described(value[one], inner.get(one), one) for one in value}
            silent = [one for one in value if "description" not in value[one]]
            if silent:
                raise ValueError(f"{name}: write a description of {', '.join(silent)} into the CRD")
        elif key in ("items", "additionalProperties"):
            value = _described(value, before.get(key), name)
        if key != "description":
            result[key] = value
    return result


def _lines(tree: Json, indent: int) -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield f"{' ' * indent}{key}:\n"
            yield from _lines(value, indent + 2)
        else:
            text = yaml.safe_dump(value, width=10**6).removesuffix("...\n").rstrip("\n")
            yield f"{' ' * indent}{key}: {text}\n"


if __name__ == "__main__":
    for changed, content in files().items():
        changed.write_text(content)
