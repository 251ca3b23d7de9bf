"""A pod template printed as Go's library `spew` prints it with `%#v`: types, names and values, field by field.

Why it exists: the original hashes this text. Invariant: the text is Go's, letter for letter, or there is none; a
field that the original's types do not have, or a value that cannot be printed alike, is never left out in silence.
"""

from collections.abc import Iterator

from controller.api.jsontree import JsonObject
from controller.api.original.go_quantity import go_quantity
from controller.api.original.go_types import ROOT, go_types

NIL = "<nil>"


class NotPrintable(Exception):
    """The original's types do not have this field or value."""


def go_print(template: JsonObject) -> str:
    """Print a pod template, as the API server gives it.

    Raises:
        NotPrintable: the template has a field or a value that the original's types do not have.
    """
    return "".join(_typed(ROOT, template))


def _typed(type_: str, value: object) -> Iterator[str]:
    """A value with its type in front, as of a field."""
    if type_.startswith("*"):
        if value is None:
            yield f"({type_}){NIL}"
        else:
            yield f"({type_})"
            yield from _bare(type_[1:], value)
        return
    yield f"({type_})"
    yield from _bare(type_, value)


def _bare(type_: str, value: object) -> Iterator[str]:
    """A value without its type, as in a list."""
    types = go_types()
    under = types.aliases.get(type_, type_)
    if under in PRINTED:
        yield PRINTED[under](value)
    elif under.startswith("[]"):
        yield from _list(under[2:], value)
    elif under.startswith("map["):
        yield from _map(under.partition("]")[2], value)
    elif under in types.structs:
        yield from _struct(under, value)
    else:
        raise NotPrintable(type_)


def _struct(type_: str, value: object) -> Iterator[str]:
    found = dict(_mapping(value))
    before = "{"
    for field in go_types().structs[type_]:
        yield f"{before}{field.name}:"
        if field.json == "-":
            # An embedded struct has its fields beside those of the one it is in.
            yield from _typed(field.type, _embedded(field.type, found))
        else:
            yield from _typed(field.type, found.pop(field.json, None))
        before = " "
    if any(item is not None for item in found.values()):
        raise NotPrintable(f"{type_}: {', '.join(found)}")
    yield "}"


def _embedded(type_: str, found: JsonObject) -> JsonObject:
    names = [field.json for field in go_types().structs[type_]]
    return {name: found.pop(name) for name in names if name in found}


def _list(type_: str, value: object) -> Iterator[str]:
    if value is None or value == []:
        yield NIL
        return
    if not isinstance(value, list):
        raise NotPrintable(type_)
    before = "["
    for item in value:
        yield before
        yield from _bare(type_, item)
        before = " "
    yield "]"


def _map(type_: str, value: object) -> Iterator[str]:
    found = _mapping(value)
    if not found:
        yield NIL
        return
    before = "map["
    for key in sorted(found, key=lambda name: name.encode()):
        yield f"{before}{key}:"
        yield from _bare(type_, found[key])
        before = " "
    yield "]"


def _mapping(value: object) -> JsonObject:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise NotPrintable(repr(value))
    return value


def _string(value: object) -> str:
    if value is not None and not isinstance(value, str):
        raise NotPrintable(repr(value))
    return value or ""


def _whole(value: object) -> str:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise NotPrintable(repr(value))
    return str(value or 0)


def _bool(value: object) -> str:
    if value is not None and not isinstance(value, bool):
        raise NotPrintable(repr(value))
    return "true" if value else "false"


def _int_or_string(value: object) -> str:
    kind, number, text = (1, 0, value) if isinstance(value, str) else (0, _whole(value), "")
    return f"{{Type:(intstr.Type){kind} IntVal:(int32){number} StrVal:(string){text}}}"


def _quantity(value: object) -> str:
    found = go_quantity(str(value)) if isinstance(value, str | int) else None
    if found is None or isinstance(value, bool):
        raise NotPrintable(repr(value))
    amount = f"{{value:(int64){found.value} scale:(resource.Scale){found.scale}}}"
    return (
        f"{{i:(resource.int64Amount){amount} d:(resource.infDecAmount){{Dec:(*inf.Dec){NIL}}} "
        f"s:(string){found.text} Format:(resource.Format){found.format}}}"
    )


def _time(value: object) -> str:
    if value is not None:
        raise NotPrintable(repr(value))
    return f"{{Time:(time.Time){{wall:(uint64)0 ext:(int64)0 loc:(*time.Location){NIL}}}}}"


PRINTED = {
    "string": _string,
    "bool": _bool,
    "int32": _whole,
    "int64": _whole,
    "intstr.IntOrString": _int_or_string,
    "resource.Quantity": _quantity,
    "v1.Time": _time,
}
"""The types that are no struct, list or map, and how each is printed."""
