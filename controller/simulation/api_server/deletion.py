"""Deletes objects: finalizers first, then the object, then the objects that it owned.

Invariant: an object with finalizers is marked and stays until the last finalizer is removed; an object without any
remaining owner is deleted too, unless the deletion of the owner had `Orphan`. Collection happens at once; the real
garbage collector takes a moment.
"""

from collections.abc import Iterator
from datetime import datetime

from controller.api.jsontree import JsonObject, changed, child, items, number, text
from controller.api.meta import Key
from controller.simulation.api_server.storage import Kind, Storage


def delete(storage: Storage, kind: Kind, key: Key, now: datetime, *, orphan: bool = False) -> None:
    """Ask for the deletion of an object that exists."""
    found = storage.get(kind, key)
    if found is None:
        return
    if orphan:
        _orphan_dependents(storage, text(found, "metadata", "uid"))
    if items(child(found, "metadata"), "finalizers"):
        if not text(found, "metadata", "deletionTimestamp"):
            storage.put(kind, key, _marked(found, now))
        return
    storage.remove(kind, key)
    collect(storage, now)


def finished(storage: Storage, kind: Kind, key: Key, now: datetime) -> bool:
    """Remove an object that is being deleted and has no finalizer left; False when it stays."""
    found = child(storage.get(kind, key), "metadata")
    if not text(found, "deletionTimestamp") or items(found, "finalizers"):
        return False
    storage.remove(kind, key)
    collect(storage, now)
    return True


def collect(storage: Storage, now: datetime) -> None:
    """Delete every object all of whose owners are gone."""
    living = {text(obj, "metadata", "uid") for _, _, obj in storage.everything()}
    for kind, key, obj in list(storage.everything()):
        owners = list(_owners(obj))
        if owners and not living & set(owners):
            delete(storage, kind, key, now)


def _owners(obj: JsonObject) -> Iterator[str]:
    for owner in items(child(obj, "metadata"), "ownerReferences"):
        yield text(owner, "uid")


def _marked(obj: JsonObject, now: datetime) -> JsonObject:
    metadata = child(obj, "metadata")
    # The real server counts the request as a change of the spec.
    generation = (number(obj, "metadata", "generation") or 0) + 1
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**obj, "metadata": {**metadata, "deletionTimestamp": stamp, "generation": generation}}


def _orphan_dependents(storage: Storage, uid: str) -> None:
    for kind, key, obj in list(storage.everything()):
        if uid in _owners(obj):
            kept = [
                o for o in items(child(obj, "metadata"), "ownerReferences") if text(o, "uid") != uid
            ]
            storage.put(kind, key, changed(obj, ("metadata", "ownerReferences"), kept or None))
