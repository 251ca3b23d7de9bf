"""Removes our marks and our field manager's entries from an object in one write, as the last step of restoring it.

Why: a server-side apply of the owner's manifest would conflict with our entry for ever (tried: another minReadySeconds
after a release). A write that changes values makes its field manager the owner of them, so the entries can only be
removed by a later write. The marks are removed by the same write: a controller that was killed before it finds the
marks and restores the object again. Invariant: nothing is removed when the spec has changed since the restore. Of a
Service that is applied server-side our field manager never owns a field: its selector is one atomic field.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import msgspec

from controller.api.names import FIELD_MANAGER
from controller.effects.patches import Operation, pointer
from controller.errors import Conflict, NotFound

ATTEMPTS = 8
"""A status write moves the entries, because they are sorted by time: the object is read again this often."""


class _Entry(msgspec.Struct, frozen=True):
    manager: str = ""
    operation: str = ""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    managed_fields: tuple[_Entry, ...] = ()
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: msgspec.Raw = msgspec.Raw()


class Marks(NamedTuple):
    """Names of the annotations and labels that mark an object as in use."""

    annotations: Sequence[str] = ()
    labels: Sequence[str] = ()


NO_MARKS = Marks()


def removing(stored: bytes, marks: Marks = NO_MARKS) -> list[Operation]:
    """JSON patch for exactly this stored version that removes our marks and entries; empty if there are none."""
    metadata = msgspec.json.decode(stored, type=_Object).metadata
    present = Marks(
        [name for name in marks.annotations if name in metadata.annotations],
        [name for name in marks.labels if name in metadata.labels],
    )
    entries = [
        index
        for index, entry in enumerate(metadata.managed_fields)
        if entry.manager == FIELD_MANAGER
    ]
    return removing_from(metadata.resource_version, present, entries)


def removing_from(version: str, present: Marks, entries: Sequence[int]) -> list[Operation]:
    """The patch of `removing` for a version whose marks and positions of our entries are known."""
    paths = [pointer("metadata", "annotations", name) for name in present.annotations]
    paths += [pointer("metadata", "labels", name) for name in present.labels]
    paths += [f"/metadata/managedFields/{index}" for index in sorted(entries, reverse=True)]
    if not paths:
        return []
    expected: Operation = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
    removed: list[Operation] = [{"op": "remove", "path": path} for path in paths]
    return [expected, *removed]


def is_applied(stored: bytes) -> bool:
    """Somebody uses server-side apply on the object: only they can conflict with our entries."""
    entries = msgspec.json.decode(stored, type=_Object).metadata.managed_fields
    return any(entry.operation == "Apply" for entry in entries)


async def take_off(
    stored: bytes,
    patch: Callable[[list[Operation]], Awaitable[object]],
    read: Callable[[], Awaitable[bytes]],
    *,
    marks: Marks = NO_MARKS,
) -> None:
    """Remove our marks and entries from the object that was stored last; `read` returns the present object.

    Raises Conflict when its spec has changed meanwhile, or when it changes faster than it can be read.
    """
    for attempt in range(ATTEMPTS):
        operations = removing(stored, marks)
        if not operations:
            return
        try:
            await patch(operations)
        except Conflict:
            now = await read()
            if attempt + 1 == ATTEMPTS or _spec(now) != _spec(stored):
                raise
            stored = now
        except NotFound:
            return
        else:
            return


def _spec(stored: bytes) -> bytes:
    return bytes(msgspec.json.decode(stored, type=_Object).spec)
