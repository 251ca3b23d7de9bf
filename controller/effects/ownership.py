"""Giving fields back: at the end of a release our field manager owns nothing of an object that is not ours.

Of a Service that is applied server-side it owns nothing at any time: its selector is one atomic field.

Why: a server-side apply of the owner's manifest would otherwise conflict with us for ever (tried: another
minReadySeconds after a release). Invariant: an entry is removed only if it is still ours where it was seen;
whoever writes in between wins. Entries are sorted by time, so a status write moves them: it is looked at again a few
times; an entry that stays in the end costs its object's owner a `--force-conflicts`, nothing more.
"""

from collections.abc import Awaitable, Callable

import msgspec

from controller.api.names import FIELD_MANAGER
from controller.errors import Conflict, NotFound

Operation = dict[str, object]
ATTEMPTS = 4


class _Entry(msgspec.Struct, frozen=True):
    manager: str = ""
    operation: str = ""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    managed_fields: tuple[_Entry, ...] = ()


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


def disowning(stored: bytes) -> list[Operation]:
    """JSON patch that removes our entries from an object as the server returned it; empty when there are none."""
    entries = msgspec.json.decode(stored, type=_Object).metadata.managed_fields
    operations: list[Operation] = []
    for index, entry in reversed(tuple(enumerate(entries))):
        if entry.manager == FIELD_MANAGER:
            place = f"/metadata/managedFields/{index}"
            operations += [
                {"op": "test", "path": f"{place}/manager", "value": FIELD_MANAGER},
                {"op": "remove", "path": place},
            ]
    return operations


def is_applied(stored: bytes) -> bool:
    """Somebody uses server-side apply on the object: only they can be in conflict with our entries."""
    entries = msgspec.json.decode(stored, type=_Object).metadata.managed_fields
    return any(entry.operation == "Apply" for entry in entries)


async def hand_back(
    stored: bytes,
    patch: Callable[[list[Operation]], Awaitable[object]],
    read: Callable[[], Awaitable[bytes]],
) -> None:
    """Take our entries off the object that was stored last; `read` gives it as it is now."""
    for _ in range(ATTEMPTS):
        operations = disowning(stored)
        if not operations:
            return
        try:
            await patch(operations)
        except Conflict:
            stored = await read()
        except NotFound:
            return
        else:
            return
