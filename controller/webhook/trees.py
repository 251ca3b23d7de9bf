"""Objects of a review, with only the fields decoded that rules read.

Why not all of it: a forged body of 3 MiB such as `[[],[],…]` becomes 200 MB of Python lists. Invariant: the values of
an object are counted before it is decoded, and one with more than `MOST_VALUES`, or nested too deeply, is refused in
words; fields that no rule reads (unknown fields, most of managedFields) are never decoded. A patch names changed places
only, so fields that are left out here survive.
"""

from collections.abc import Collection

import msgspec

from controller.api.depth import DEEPEST, is_too_deep, without_texts
from controller.api.jsontree import JsonObject
from controller.kube.nesting import is_outline

MOST_VALUES = 50_000
"""Values of one object. A Deployment of 1.5 MiB, etcd's limit, has more only if they are shorter than 30 bytes."""
_SLICE = 64 << 10
NOTHING = msgspec.Raw(b"null")
ABSENT = msgspec.Raw(b"")


MAX_VALUES_PER_PAGE = 200_000
"""Values of all objects of one conversion; the API server was only ever seen to ask for one object at a time."""


class TooManyValues(Exception):
    """An object is larger than any object of a release; the text says so."""


class _Object(msgspec.Struct, frozen=True, rename="camel"):
    """The top of any Kubernetes object that we judge."""

    api_version: msgspec.Raw = ABSENT
    kind: msgspec.Raw = ABSENT
    metadata: msgspec.Raw = ABSENT
    spec: msgspec.Raw = ABSENT
    status: msgspec.Raw = ABSENT


class _OfStrategy(msgspec.Struct, frozen=True, rename={"limits": "f:rollingUpdate"}):
    limits: dict[str, msgspec.Raw] = {}


class _OfSpec(msgspec.Struct, frozen=True, rename={"strategy": "f:strategy"}):
    strategy: _OfStrategy = _OfStrategy()


class _Fields(msgspec.Struct, frozen=True, rename={"spec": "f:spec"}):
    spec: _OfSpec = _OfSpec()


class _Managed(msgspec.Struct, frozen=True, rename={"fields": "fieldsV1"}):
    """An entry of managedFields: a manager, and the rolling update limits of a Deployment that it owns."""

    manager: str = ""
    fields: _Fields = _Fields()


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """All of ObjectMeta; of managedFields, the longest part of many objects, only what `_Managed` has is decoded."""

    name: msgspec.Raw = ABSENT
    generate_name: msgspec.Raw = ABSENT
    namespace: msgspec.Raw = ABSENT
    uid: msgspec.Raw = ABSENT
    resource_version: msgspec.Raw = ABSENT
    generation: msgspec.Raw = ABSENT
    creation_timestamp: msgspec.Raw = ABSENT
    deletion_timestamp: msgspec.Raw = ABSENT
    labels: msgspec.Raw = ABSENT
    annotations: msgspec.Raw = ABSENT
    owner_references: msgspec.Raw = ABSENT
    finalizers: msgspec.Raw = ABSENT
    managed_fields: msgspec.Raw = ABSENT


def values_in(raw: msgspec.Raw | memoryview | bytes) -> int:
    """How many values a JSON text has at most (commas and brackets in strings count, too)."""
    view, found = memoryview(raw), 1
    for begin in range(0, len(view), _SLICE):
        text = bytes(view[begin : begin + _SLICE])
        found += text.count(b",") + text.count(b"[") + text.count(b"{")
    return found


def tree(raw: msgspec.Raw) -> JsonObject | None:
    """The object as rules read it; None for null. Raises TooManyValues, or an error of msgspec if the text is no
    object."""
    if raw == NOTHING:
        return None
    parts = _present(msgspec.json.decode(raw, type=_Object))
    metadata = parts.pop("metadata", NOTHING)
    inner = {} if metadata == NOTHING else _present(msgspec.json.decode(metadata, type=_Metadata))
    owners = _owners_of_limits(inner.pop("managedFields", NOTHING))
    _check((*parts.values(), *inner.values()))
    return (
        {**_decoded(parts), "metadata": {**_decoded(inner), **owners}} if inner else _decoded(parts)
    )


def _owners_of_limits(raw: msgspec.Raw) -> JsonObject:
    """managedFields, with only the rolling update limits; nothing if nobody owns one, or if they are too long."""
    if raw == NOTHING or values_in(raw) > MOST_VALUES:
        return {}
    try:
        entries = msgspec.json.decode(raw, type=list[_Managed])
    except msgspec.DecodeError:
        return {}
    found = [entry for entry in entries if entry.fields.spec.strategy.limits]
    return {"managedFields": msgspec.json.decode(msgspec.json.encode(found))} if found else {}


def convertible(raw: msgspec.Raw) -> JsonObject:
    """The object with its spec, name and annotations decoded; the rest goes through as it came.

    Only the values of these parts count: a Rollout that admission has accepted is convertible with any status and any
    managedFields. Else every list in the other version would fail because of it.
    """
    obj: JsonObject = dict(msgspec.json.decode(raw, type=dict[str, msgspec.Raw]))
    decoded = [(obj, name) for name in ("apiVersion", "kind", "spec")]
    metadata = obj.get("metadata")
    if isinstance(metadata, msgspec.Raw) and metadata != NOTHING:
        inner: JsonObject = dict(msgspec.json.decode(metadata, type=dict[str, msgspec.Raw]))
        decoded += [(inner, name) for name in ("name", "annotations")]
        obj["metadata"] = inner
    parts = [part for owner, name in decoded if isinstance(part := owner.get(name), msgspec.Raw)]
    _check(parts)
    for owner, name in decoded:
        _decode_in(owner, name)
    return obj


def check_page(body: memoryview) -> None:
    """Refuse a request for conversion before any of its objects is decoded."""
    _check((body,), MAX_VALUES_PER_PAGE, "the list")


def check_whole(raw: msgspec.Raw) -> None:
    """Refuse an object that no rule could walk through, or of which an outline is left."""
    if is_outline(raw) or is_too_deep(raw):
        raise TooManyValues(f"the object is nested deeper than {DEEPEST} levels: make it flatter")


def _check(
    texts: Collection[msgspec.Raw | memoryview], most: int = MOST_VALUES, what: str = "the object"
) -> None:
    values = sum(map(values_in, texts))
    if values > most:
        # An annotation may be a text of a quarter of a million commas.
        values = sum(values_in(piece) for text in texts for piece in without_texts(text))
    if values > most:
        raise TooManyValues(
            f"{what} has up to {values} values, and {most} is the most that is looked at: make it smaller"
        )


def _present(parts: msgspec.Struct) -> dict[str, msgspec.Raw]:
    names = zip(parts.__struct_fields__, parts.__struct_encode_fields__, strict=True)
    found = {encoded: getattr(parts, name) for name, encoded in names}
    return {name: raw for name, raw in found.items() if raw != ABSENT}


def _decoded(parts: dict[str, msgspec.Raw]) -> JsonObject:
    return {name: msgspec.json.decode(raw) for name, raw in parts.items()}


def _decode_in(obj: JsonObject, name: str) -> None:
    raw = obj.get(name)
    if isinstance(raw, msgspec.Raw):
        obj[name] = msgspec.json.decode(raw)
