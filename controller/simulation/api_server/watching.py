"""A watch on the in-memory API server, as lines of JSON.

Invariant: a watch sees every change after its version once, in order, as far as its selection goes: an object that a
change brings into the selection is ADDED, one that a change takes out of it is DELETED.
"""

import asyncio
from collections.abc import AsyncGenerator

import msgspec

from controller.errors import Gone
from controller.simulation.api_server.selection import Selects
from controller.simulation.api_server.storage import Change, Kind, Storage


async def watch_lines(
    storage: Storage,
    kind: Kind,
    namespace: str,
    version: int,
    chosen: Selects,
    changed: asyncio.Event,
    closing: asyncio.Event,
) -> AsyncGenerator[bytes, None]:
    """The changes after `version`, and those to come, until `closing`; `changed` is set whenever there may be more."""
    while True:
        changed.clear()
        try:
            changes = list(storage.since(version))
        except Gone as gone:
            yield _line(
                "ERROR",
                {"kind": "Status", "code": 410, "reason": gone.reason, "message": gone.message},
            )
            return
        for change in changes:
            version = change.version
            event = _event(change, kind, namespace, chosen)
            if event:
                yield _line(event, change.object)
        if closing.is_set():
            return
        await changed.wait()


def _event(change: Change, kind: Kind, namespace: str, chosen: Selects) -> str:
    """The watch's events for a change; empty when the change does not concern the watch."""
    if change.kind != kind or namespace not in ("", change.key.namespace):
        return ""
    was = change.before is not None and chosen(change.before)
    is_now = change.type != "DELETED" and chosen(change.object)
    if was and is_now:
        return "MODIFIED"
    if is_now:
        return "ADDED"
    return "DELETED" if was else ""


def _line(event: str, obj: object) -> bytes:
    return msgspec.json.encode({"type": event, "object": obj})
