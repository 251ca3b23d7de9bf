"""The API server's answer to the fields of an object before any webhook: the structural schema of a CRD.

Why: a field that is misspelt, or a number where a text belongs, is refused by the server and never reaches the
controller, except where the object comes from a file or from an annotation. Invariant: pure; a message names the field
and the type it should have. Rules in CEL are not evaluated here: admission's own checks say the same.
"""

import re
from collections.abc import Iterator

from controller.api.jsontree import JsonObject, child, items, text

TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}
UNKNOWN_FIELD = "unknown field"
"""The beginning of the message about a field that a schema does not have."""


def problems(value: object, schema: JsonObject) -> tuple[str, ...]:
    """The mistakes in a value, by a structural schema."""
    return tuple(_problems(value, schema, ""))


def _problems(value: object, schema: JsonObject, path: str) -> Iterator[str]:
    if value is None and schema.get("nullable") is True:
        return
    if value is None:
        yield f"{path}: Required value"
    elif schema.get("x-kubernetes-int-or-string") is True:
        yield from _scalar(value, {**schema, "type": ["integer", "string"]}, path)
    elif isinstance(value, dict) and schema.get("type") == "object":
        yield from _of_object(value, schema, path)
    elif isinstance(value, list) and schema.get("type") == "array":
        yield from _size(len(value), schema, "Items", path)
        for place, item in enumerate(value):
            yield from _problems(item, child(schema, "items"), f"{path}[{place}]")
    else:
        yield from _scalar(value, schema, path)


def _of_object(value: JsonObject, schema: JsonObject, path: str) -> Iterator[str]:
    known, others = child(schema, "properties"), schema.get("additionalProperties")
    keeps_all = schema.get("x-kubernetes-preserve-unknown-fields") is True
    for name in items(schema, "required"):
        # A default is filled in before the server looks.
        if value.get(str(name)) is None and "default" not in child(known, str(name)):
            yield f"{_field(path, name)}: Required value"
    for name, item in value.items():
        if name in known:
            # A field that may be left out may be null as well: the server drops it before it looks.
            if item is not None:
                yield from _problems(item, child(known, name), _field(path, name))
        elif isinstance(others, dict):
            yield from _problems(item, others, _field(path, name))
        elif not keeps_all:
            yield f'{UNKNOWN_FIELD} "{_field(path, name)}"'


def _field(path: str, name: object) -> str:
    return f"{path}.{name}" if path else f"{name}"


def _scalar(value: object, schema: JsonObject, path: str) -> Iterator[str]:
    type_ = schema.get("type")
    wanted = [name for name in (type_ if isinstance(type_, list) else [type_]) if name in TYPES]
    if schema.get("format") == "int32" and "maximum" not in schema:
        schema = {**schema, "maximum": 2**31 - 1}
    if wanted and not any(_is(value, str(name)) for name in wanted):
        yield f"{path}: Invalid value: must be of type {' or '.join(map(str, wanted))}, not {_shown(value)}"
        return
    enum = items(schema, "enum")
    if enum and value not in enum:
        supported = ", ".join(f'"{name}"' for name in enum)
        yield f"{path}: Unsupported value: {_shown(value)}: supported values: {supported}"
    if isinstance(value, str):
        yield from _size(len(value), schema, "Length", path)
        pattern = text(schema, "pattern")
        if pattern and not _fits(pattern, value):
            yield f"{path}: Invalid value: {_shown(value)} should match '{pattern}'"
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(least, int) and isinstance(value, int | float) and value < least:
        yield f"{path}: Invalid value: {value} should be at least {least}"
    if isinstance(most, int) and isinstance(value, int | float) and value > most:
        yield f"{path}: Invalid value: {value} should be at most {most}"


def _fits(pattern: str, value: str) -> bool:
    """Whether the value fits. An expression that only Go's dialect has counts as fitting."""
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return True


def _size(size: int, schema: JsonObject, what: str, path: str) -> Iterator[str]:
    least, most = schema.get(f"min{what}"), schema.get(f"max{what}")
    of = "items" if what == "Items" else "characters"
    if isinstance(least, int) and size < least:
        yield f"{path}: Invalid value: it should have at least {least} {of}"
    if isinstance(most, int) and size > most:
        yield f"{path}: Too long: it may have at most {most} {of}"


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    whole = name == "integer" and isinstance(value, float) and value.is_integer()
    return whole or isinstance(value, TYPES[name])


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
