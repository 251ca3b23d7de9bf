"""The objects of the in-memory API server, with the history that watches read.

Invariant: one counter of resource versions for all kinds, as etcd has; every change is one entry of the history, in the
order of its version; the history is bounded, and a watch from an older version gets Gone. Objects are never changed
in place: a reader may keep them.
"""

from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from controller.api.jsontree import JsonObject
from controller.api.meta import Key
from controller.errors import Gone

KEPT_CHANGES = 10_000
"""Changes that a watch can start from; the real server keeps about five minutes of them."""

Kind = tuple[str, str]
"""API group and plural: an object is the same one in every version of its group."""


class Change(msgspec.Struct, frozen=True):
    """One entry of the history; `before` is None when the object was made by it."""

    version: int
    kind: Kind
    key: Key
    type: str
    object: JsonObject
    before: JsonObject | None = None


class Storage:
    """Objects by kind and key, the counter of versions, and the latest changes."""

    def __init__(self, kept_changes: int = KEPT_CHANGES) -> None:
        self._objects: dict[Kind, dict[Key, JsonObject]] = {}
        self._changes: deque[Change] = deque(maxlen=kept_changes)
        self._forgotten = 0
        self._listeners: list[Callable[[Change], None]] = []
        self.version = 1

    def get(self, kind: Kind, key: Key) -> JsonObject | None:
        """The object, or None."""
        return self._objects.get(kind, {}).get(key)

    def all(self, kind: Kind) -> Iterator[tuple[Key, JsonObject]]:
        """The objects of a kind, by namespace and name."""
        yield from sorted(self._objects.get(kind, {}).items())

    def everything(self) -> Iterator[tuple[Kind, Key, JsonObject]]:
        """Every object there is."""
        for kind, objects in list(self._objects.items()):
            for key, found in list(objects.items()):
                yield kind, key, found

    def put(self, kind: Kind, key: Key, obj: JsonObject) -> JsonObject:
        """Store a whole object; return it with its new resource version."""
        before = self.get(kind, key)
        stored = self._stamped(obj)
        self._objects.setdefault(kind, {})[key] = stored
        self._note(kind, key, "ADDED" if before is None else "MODIFIED", stored, before)
        return stored

    def remove(self, kind: Kind, key: Key) -> None:
        """The object is gone; its last state carries the version of its removal, as in the real server."""
        before = self._objects.get(kind, {}).pop(key, None)
        if before is not None:
            self._note(kind, key, "DELETED", self._stamped(before), before)

    def subscribe(self, listener: Callable[[Change], None]) -> None:
        """Tell `listener` of every change, when it has been made."""
        self._listeners.append(listener)

    def since(self, version: int) -> Iterator[Change]:
        """The changes after `version`, oldest first; Gone when some of them are not kept any more."""
        full = len(self._changes) == self._changes.maxlen
        first = max(self._forgotten, self._changes[0].version - 1 if full else 0)
        if version < first:
            raise Gone(f"too old resource version: {version}", status=410, reason="Expired")
        yield from (change for change in self._changes if change.version > version)

    def forget_changes(self) -> None:
        """Compaction: no watch can start from an earlier version than the present one."""
        self._changes.clear()
        self.version += 1
        self._forgotten = self.version

    def _stamped(self, obj: JsonObject) -> JsonObject:
        self.version += 1
        metadata = obj.get("metadata")
        fields = metadata if isinstance(metadata, dict) else {}
        return {**obj, "metadata": {**fields, "resourceVersion": str(self.version)}}

    def _note(
        self, kind: Kind, key: Key, what: str, obj: JsonObject, before: JsonObject | None
    ) -> None:
        change = Change(self.version, kind, key, what, obj, before)
        self._changes.append(change)
        for listener in self._listeners:
            listener(change)
