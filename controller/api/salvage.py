"""Reads an object whose status cannot be read as a whole: as much of the status as can be.

Why it exists: the API server stores values that match a schema and no type, such as a time in the year 0. Skipped, such
a Rollout gets no pass: nothing restores its workload, and it cannot be deleted. Invariant: metadata and spec are read
whole, or `msgspec.DecodeError` is raised; a part of the status that cannot be read has the value of an absent one, and
is named. It must not judge what it reads.
"""

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import msgspec

from controller.api.decoding import decoded, reader_of
from controller.api.rollout import Rollout
from controller.api.trafficrouting import TrafficRouting

S = TypeVar("S", bound=msgspec.Struct)
K = TypeVar("K", Rollout, TrafficRouting)


def salvaging(kind: type[K]) -> Callable[[str | bytes | msgspec.Raw], K]:
    """A reader that answers with what can be read of the status, and with the names of the rest in `unreadable`.

    It raises `msgspec.DecodeError` if metadata or spec cannot be read.
    """
    whole = reader_of(kind)

    def read(raw: str | bytes | msgspec.Raw) -> K:
        try:
            return whole(raw)
        except msgspec.DecodeError:
            rest = decoded(raw, dict[str, msgspec.Raw])
            status = rest.pop("status", msgspec.Raw(b"{}"))
            found, lost = whole(msgspec.json.encode(rest)), list[str]()
            known = struct_of(status, type(found.status), "status", lost) or found.status
            return msgspec.structs.replace(found, status=known, unreadable=tuple(lost))

    return read


read_rollout = salvaging(Rollout)
read_traffic_routing = salvaging(TrafficRouting)


def struct_of(raw: msgspec.Raw, kind: type[S], path: str, lost: list[str]) -> S | None:
    """The struct with each field that can be read; the paths of the others are added to `lost`."""
    try:
        return decoded(raw, kind)
    except msgspec.DecodeError:
        pass
    try:
        parts = decoded(raw, dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        lost.append(path)
        return None
    values: dict[str, object] = {}
    for field in msgspec.structs.fields(kind):
        part = parts.get(field.encode_name)
        if part is None:
            continue
        place = f"{path}.{field.encode_name}"
        inner = _struct_in(field.type)
        value = (
            struct_of(part, inner, place, lost) if inner else _value(part, field.type, place, lost)
        )
        if value is not None:
            values[field.name] = value
    return kind(**values)


def _value(raw: msgspec.Raw, kind: Any, path: str, lost: list[str]) -> object:
    try:
        return decoded(raw, kind)
    except msgspec.DecodeError:
        lost.append(path)
        return None


def _struct_in(kind: Any) -> type[msgspec.Struct] | None:
    """The struct that a field is, or may be."""
    for one in (kind, *get_args(kind)):
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            return one if one is kind or msgspec.UnsetType in get_args(kind) else None
    return None
