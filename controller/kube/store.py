"""The cache: typed, frozen views of objects, with indexes.

Invariants: indexes always agree with the views (they are pure functions of a view, kept incrementally);
listeners get every change exactly once, after the whole change is in place; for an object that was deleted and
created again under its name (another uid), listeners get a deletion and an addition, never a change; resource
versions are compared for equality only. Views are immutable, so they may be handed out without copying.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from controller.api.meta import Key, ObjectMeta


class HasMetadata(Protocol):
    """Anything that can be cached."""

    @property
    def metadata(self) -> ObjectMeta:
        """Name, uid, version."""
        ...


V = TypeVar("V", bound=HasMetadata)
Listener = Callable[[V | None, V | None], None]  # (old, new)


class Store(Generic[V]):
    """All known objects of one kind."""

    def __init__(self, indexes: Mapping[str, Callable[[V], Iterable[str]]] | None = None) -> None:
        self._views: dict[Key, V] = {}
        self._functions = dict(indexes or {})
        self._indexes: dict[str, dict[str, dict[Key, None]]] = {
            name: {} for name in self._functions
        }
        self._listeners: list[Listener[V]] = []

    def __len__(self) -> int:
        return len(self._views)

    def __contains__(self, key: Key) -> bool:
        return key in self._views

    def get(self, key: Key) -> V | None:
        """The object, if it is known."""
        return self._views.get(key)

    def keys(self) -> tuple[Key, ...]:
        """The keys of all known objects."""
        return tuple(self._views)

    def values(self) -> tuple[V, ...]:
        """All known objects."""
        return tuple(self._views.values())

    def index(self, name: str, value: str) -> tuple[V, ...]:
        """The objects for which index `name` gave `value`."""
        return tuple(self._views[key] for key in self._indexes[name].get(value, ()))

    def resource_version(self, key: Key) -> str:
        """The version the cache shows, or an empty string."""
        view = self._views.get(key)
        return view.metadata.resource_version if view is not None else ""

    def subscribe(self, listener: Listener[V]) -> Callable[[], None]:
        """Call `listener(old, new)` after every change; returns the way to end that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def shows(self, view: V) -> bool:
        """This very object is known in this version."""
        known = self._views.get(view.metadata.key)
        return known is not None and not _differs(known, view)

    def put(self, view: V) -> None:
        """Store an object; an object that is already known in this version changes nothing."""
        old = self._views.get(view.metadata.key)
        if old is None or _differs(old, view):
            self._set(view.metadata.key, old, view)
            self._notify([(old, view)])

    def remove(self, key: Key, uid: str = "") -> None:
        """Drop an object; with `uid`, only if it is that one and not its successor."""
        old = self._views.get(key)
        if old is None or (uid and old.metadata.uid and old.metadata.uid != uid):
            return
        self._set(key, old, None)
        self._notify([(old, None)])

    def replace_all(self, views: Iterable[V], keep: Iterable[Key] = ()) -> None:
        """Make `views` the whole content, but for the keys to `keep`; listeners get the differences."""
        after = {view.metadata.key: view for view in views}
        kept = frozenset(keep)
        gone = [key for key in self._views if key not in after and key not in kept]
        self.change([view for view in after.values() if not self.shows(view)], gone)

    def change(self, views: Iterable[V], gone: Iterable[Key]) -> None:
        """Take in objects and drop others in one go; listeners hear of them after it."""
        changes: list[tuple[V | None, V | None]] = []
        for key in gone:
            if (old := self._views.get(key)) is not None:
                self._set(key, old, None)
                changes.append((old, None))
        for view in views:
            key = view.metadata.key
            known = self._views.get(key)
            self._set(key, known, view)
            changes.append((known, view))
        self._notify(changes)

    def _set(self, key: Key, old: V | None, new: V | None) -> None:
        if new is None:
            del self._views[key]
        else:
            self._views[key] = new
        for name, function in self._functions.items():
            before = frozenset(function(old)) if old is not None else frozenset()
            after = frozenset(function(new)) if new is not None else frozenset()
            if before != after:
                self._reindex(name, key, before, after)

    def _reindex(self, name: str, key: Key, before: frozenset[str], after: frozenset[str]) -> None:
        index = self._indexes[name]
        for value in before - after:
            keys = index[value]
            del keys[key]
            if not keys:
                del index[value]
        for value in after - before:
            index.setdefault(value, {})[key] = None

    def _notify(self, changes: list[tuple[V | None, V | None]]) -> None:
        for old, new in changes:
            reborn = old is not None and new is not None and old.metadata.uid != new.metadata.uid
            for listener in tuple(self._listeners):
                if reborn:
                    listener(old, None)
                    listener(None, new)
                else:
                    listener(old, new)


def _differs(old: HasMetadata, new: HasMetadata) -> bool:
    before, after = old.metadata, new.metadata
    return before.resource_version != after.resource_version or before.uid != after.uid
