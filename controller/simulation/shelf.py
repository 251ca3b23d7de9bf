"""Objects of one kind, stamped as an API server stamps them.

Invariant: writing what is already there changes nothing, not even the resource version; the generation counts changes
of the spec alone; an object with finalizers stays, marked as deleting, until the last finalizer is gone.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from msgspec import structs

from controller.api.meta import Key, ObjectMeta


class HasMetadata(Protocol):
    """Any object of the API."""

    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=HasMetadata)


class Versions:
    """The resource versions and UIDs of one cluster, and its clock."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.last = 0
        self._made = 0

    def next(self) -> str:
        """A version later than all before."""
        self.last += 1
        return str(self.last)

    def uid(self) -> str:
        """A UID nobody has."""
        self._made += 1
        return f"uid-{self._made}"


class Shelf(Generic[T]):
    """Objects of one kind by key; `spec` is the part whose changes the generation counts."""

    def __init__(self, versions: Versions, spec: Callable[[T], object]) -> None:
        self._versions = versions
        self._spec = spec
        self._kept: dict[Key, T] = {}

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._kept.values()))

    def __getitem__(self, key: Key) -> T:
        return self._kept[key]

    def get(self, key: Key) -> T | None:
        """The object, or None."""
        return self._kept.get(key)

    def put(self, obj: T) -> T:
        """Store `obj` under its key, as a create or an update; answers what is stored now."""
        old = self._kept.get(obj.metadata.key)
        if old is None:
            return self._store(obj, generation=1)
        as_before = _with_metadata(
            obj,
            generation=old.metadata.generation,
            resource_version=old.metadata.resource_version,
        )
        if as_before == old:
            return old
        if obj.metadata.deleting and not obj.metadata.finalizers:
            self.remove(obj.metadata.key)
            return obj
        grown = self._spec(old) != self._spec(obj)
        return self._store(obj, generation=old.metadata.generation + grown)

    def delete(self, key: Key) -> None:
        """Ask for the deletion of an object; nothing happens when there is none."""
        old = self._kept.get(key)
        if old is None or old.metadata.deleting:
            return
        if old.metadata.finalizers:
            marked = _with_metadata(old, deletion_timestamp=self._versions.now)
            self._store(marked, generation=old.metadata.generation + 1)
        else:
            self.remove(key)

    def remove(self, key: Key) -> None:
        """The object is gone, whatever finalizers it had."""
        if self._kept.pop(key, None) is not None:
            self._versions.next()

    def _store(self, obj: T, generation: int) -> T:
        stored = _with_metadata(
            obj,
            generation=generation,
            resource_version=self._versions.next(),
            uid=obj.metadata.uid or self._versions.uid(),
            creation_timestamp=obj.metadata.creation_timestamp or self._versions.now,
        )
        self._kept[obj.metadata.key] = stored
        return stored


def _with_metadata(obj: T, **changes: object) -> T:
    metadata = structs.replace(obj.metadata, **changes)
    return structs.replace(obj, metadata=metadata)  # type: ignore[type-var]
