"""Objects of the in-memory API server as typed views: decoded as in the product, written whole.

Why: models of controllers, and tests, use a few fields of an object. Invariant: only the server's objects are
authoritative, and every change gives a new view at once; writing a view changes the fields that the view has and keeps
all others; writing equal content changes nothing, not even the resource version.
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec
from msgspec import structs

from controller.api.jsontree import JsonObject, child, number, text
from controller.api.meta import Key
from controller.kube.resources import Resource
from controller.kube.store import HasMetadata, Store
from controller.simulation.api_server import deletion
from controller.simulation.api_server.server import MemoryApi
from controller.simulation.api_server.storage import Change, Kind, Storage

V = TypeVar("V", bound=HasMetadata)

SERVER_ONLY = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")
"""Metadata that an update never takes from the view."""


class Projections:
    """Keeps stores of typed views in step with the server's objects."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._followers: dict[Kind, list[Callable[[Change, bytes], None]]] = {}
        storage.subscribe(self._changed)

    def follow(self, kind: Kind, store: Store[V], view: Callable[[bytes], V]) -> None:
        """Fill a store with the objects of a kind, and keep it filled."""

        def take(change: Change, raw: bytes) -> None:
            if change.type == "DELETED":
                store.remove(change.key)
            else:
                store.put(view(raw))

        for _, obj in self._storage.all(kind):
            store.put(view(msgspec.json.encode(obj)))
        self._followers.setdefault(kind, []).append(take)

    def _changed(self, change: Change) -> None:
        followers = self._followers.get(change.kind)
        if followers:
            raw = msgspec.json.encode(change.object)
            for take in followers:
                take(change, raw)


class Objects(Generic[V]):
    """Objects of one kind; `resource_of` says how each of them is addressed."""

    def __init__(
        self, server: MemoryApi, store: Store[V], resource_of: Callable[[V], Resource]
    ) -> None:
        self._server = server
        self._store = store
        self._resource_of = resource_of

    def __iter__(self) -> Iterator[V]:
        return iter(self._store.values())

    def __getitem__(self, key: Key) -> V:
        found = self._store.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def get(self, key: Key) -> V | None:
        """The object, or None."""
        return self._store.get(key)

    def raw(self, key: Key) -> JsonObject:
        """The whole object."""
        found = self._server.storage.get(self._kind(self[key]), key)
        assert found is not None
        return found

    def written(self, obj: V) -> JsonObject:
        """The whole object as it would be with the fields of `obj`."""
        resource, key = self._resource_of(obj), obj.metadata.key
        old = self._server.storage.get((resource.group, resource.plural), key)
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        return {**_overlaid(old or {}, _tree(obj)), **head}

    def put(self, obj: V) -> V:
        """Store an object, as a create or an update of it with its status; returns the stored object."""
        old = self._store.get(obj.metadata.key)
        if old is not None and _as_stored(obj, old) == old:
            return old
        self.store(self.written(obj), self._resource_of(obj))
        return self._store.get(obj.metadata.key) or obj

    def store(self, whole: JsonObject, resource: Resource) -> None:
        """Store a whole object, stamped as the API server stamps it."""
        store_whole(self._server, whole, resource)

    def delete(self, key: Key) -> None:
        """Ask for the deletion of an object; nothing happens when there is none."""
        found = self._store.get(key)
        if found is not None:
            deletion.delete(self._server.storage, self._kind(found), key, self._server.now)

    def remove(self, key: Key) -> None:
        """Delete the object at once, with any finalizers."""
        found = self._store.get(key)
        if found is not None:
            self._server.storage.remove(self._kind(found), key)
            deletion.collect(self._server.storage, self._server.now)

    def _kind(self, obj: V) -> Kind:
        resource = self._resource_of(obj)
        return resource.group, resource.plural


def store_whole(server: MemoryApi, whole: JsonObject, resource: Resource) -> None:
    """Store an object of any kind, past admission: a new one gets a UID, a change of the spec another generation."""
    kind: Kind = (resource.group, resource.plural)
    metadata = dict(child(whole, "metadata"))
    key = Key(text(metadata, "namespace"), text(metadata, "name"))
    before = server.storage.get(kind, key)
    if before is None:
        metadata.setdefault("uid", server.new_uid())
        metadata.setdefault("creationTimestamp", f"{server.now:%Y-%m-%dT%H:%M:%SZ}")
        metadata["generation"] = 1
    elif _spec(before) != _spec(whole):
        metadata["generation"] = (number(before, "metadata", "generation") or 0) + 1
    server.storage.put(kind, key, {**whole, "metadata": metadata})
    deletion.finished(server.storage, kind, key, server.now)


def _as_stored(obj: V, old: V) -> V:
    """`obj` with the fields that only the server sets, taken from the stored object."""
    before = old.metadata
    metadata = structs.replace(
        obj.metadata,
        uid=before.uid,
        generation=before.generation,
        resource_version=before.resource_version,
        creation_timestamp=before.creation_timestamp,
    )
    return structs.replace(obj, metadata=metadata)  # type: ignore[type-var] # every view is a struct


def _tree(obj: HasMetadata) -> JsonObject:
    return msgspec.json.decode(msgspec.json.encode(obj), type=JsonObject)


def _overlaid(old: JsonObject, new: JsonObject) -> JsonObject:
    """`old` with the fields of a view: the fields of metadata and spec one by one, all others whole."""
    result = dict(old)
    for name, value in new.items():
        if name == "metadata" and isinstance(value, dict):
            fields = _of_client(value, known=bool(old))
            result[name] = _with_fields(child(old, name), fields)
        elif name == "spec" and isinstance(value, dict):
            result[name] = _with_fields(child(old, name), value)
        else:
            result = _with_fields(result, {name: value})
    return result


def _of_client(metadata: JsonObject, *, known: bool) -> JsonObject:
    """Metadata without the server's fields; a new object may have a UID and an age."""
    left_out = SERVER_ONLY if known else ("resourceVersion", "generation")
    return {name: value for name, value in metadata.items() if name not in left_out}


def _with_fields(old: JsonObject, fields: JsonObject) -> JsonObject:
    """`old` with these fields; null removes a field, and an empty value is not added where none exists."""
    result = dict(old)
    for name, value in fields.items():
        if value is None:
            result.pop(name, None)
        elif name in old or value not in ("", [], {}):
            result[name] = value
    return result


def _spec(obj: JsonObject) -> JsonObject:
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}
