"""The author of a change to a gateway object, as its managedFields tell.

Why: people who look at a release ask who changed a route. Invariant: nobody is better than the wrong name. A manager
is named for a change of certain places only if the object does not say that it wrote other places; and of two that
may be meant, none is named. A field that is gone has no manager any more: then only a manager who is the single one
since our own last write is named.
"""

import re
from collections.abc import Iterable
from datetime import datetime

import msgspec

from controller.api import names
from controller.domain.traffic.original.content import strings_of
from controller.domain.traffic.tree import Json, Tree

_IN_METADATA = ("labels", "annotations")
_CONTENT = (("spec",), *(("metadata", name) for name in _IN_METADATA))
"""The fields that owners write; a gateway's controller writes the others."""
_END_OF_NAME = re.compile(r"[.\[]")


class Editor(msgspec.Struct, frozen=True):
    """The field manager, other than us, that wrote an object last, and when; both empty when the object does not
    say.
    """

    manager: str = ""
    at: datetime | None = None


class _Entry(msgspec.Struct, frozen=True):
    """One manager's last write, and its fields; None if they are not said."""

    manager: str
    time: str
    fields: Tree | None


def editor_of(live: Tree, places: Iterable[str] = ()) -> Editor:
    """The field manager, other than us, that wrote these places last; without places, any content."""
    entries = _entries(live)
    others = [entry for entry in entries if entry.manager != names.FIELD_MANAGER]
    paths = [_path(place) for place in places] or _CONTENT
    writers = [entry for entry in others if _wrote(entry, paths)]
    if not writers:
        ours = max((e.time for e in entries if e.manager == names.FIELD_MANAGER), default="")
        since = [entry for entry in others if entry.time >= ours]
        return _last(since, since)
    latest = max(entry.time for entry in writers)
    return _last(writers, [entry for entry in writers if entry.time == latest])


def _last(entries: list[_Entry], meant: list[_Entry]) -> Editor:
    managers = {entry.manager for entry in meant}
    at = _instant(max((entry.time for entry in entries), default=""))
    return Editor(managers.pop() if len(managers) == 1 else "", at)


def _entries(live: Tree) -> list[_Entry]:
    metadata = live.get("metadata")
    listed: Json = metadata.get("managedFields") if isinstance(metadata, dict) else None
    found = []
    for entry in listed if isinstance(listed, list) else []:
        said = strings_of(entry)
        if said.get("manager") and not said.get("subresource"):
            fields = entry.get("fieldsV1") if isinstance(entry, dict) else None
            known = fields if isinstance(fields, dict) else None
            found.append(_Entry(said["manager"], said.get("time", ""), known))
    return found


def _path(place: str) -> tuple[str, ...]:
    """The names that lead to the outermost field of a place: lists are mostly one field, with one manager."""
    root, _, rest = place.partition(".")
    if root in _IN_METADATA:
        return ("metadata", root, rest)
    return tuple(name for name in (root, _END_OF_NAME.split(rest)[0]) if name)


def _wrote(entry: _Entry, paths: Iterable[tuple[str, ...]]) -> bool:
    fields = entry.fields
    return fields is None or any(_has(fields, path) for path in paths)


def _has(fields: Tree, path: tuple[str, ...]) -> bool:
    found: Json = fields
    for name in path:
        if not isinstance(found, dict) or f"f:{name}" not in found:
            return False
        found = found[f"f:{name}"]
    return True


def _instant(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
