"""Kinds that Rollouts name, and the ConfigMaps and Secrets that pods read, in the in-memory API server.

Why: in a process of the product these are watched while somebody needs them, by tasks that wait for the server; here a
store follows the server at once. Invariant: every kind is served, unless it was said that it cannot be read.
"""

from collections.abc import Callable, Iterable

import msgspec

from controller.api.config import ConfigKind, ConfigObject, slimmed
from controller.api.decoding import reader_of
from controller.api.meta import Key, ObjectMeta
from controller.api.names import ROLLOUT_UID
from controller.domain.availability import Availability, Synced, Unavailable
from controller.domain.traffic.companions.companion import finding_keys
from controller.kube.kind_watch import MAKER, Kind, RawObject
from controller.kube.resources import CONFIG_MAPS, SECRETS, Resource
from controller.kube.store import Store
from controller.simulation.state import resource_of_kind
from controller.simulation.typed_views import Projections


class _Head(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


_head = reader_of(_Head)


def _raw_object(raw: bytes) -> RawObject:
    return RawObject(metadata=_head(raw).metadata, raw=msgspec.Raw(raw))


class NamedKinds:
    """Objects of the requested kinds."""

    epoch = 0
    """The served kinds never change."""

    def __init__(
        self, projections: Projections, changed: Callable[[Kind, ObjectMeta], None]
    ) -> None:
        self._projections = projections
        self._changed = changed
        self._stores: dict[Kind, Store[RawObject]] = {}
        self.unreadable: dict[Kind, Unavailable] = {}
        """Kinds whose objects cannot be read, and why."""

    def keep_watched(self, owner: Key, kinds: Iterable[Kind]) -> None:
        """`owner` needs these kinds."""
        for kind in kinds:
            self._store(kind)

    def availability(self, kind: Kind) -> Availability:
        """Whether the objects of a kind are known."""
        return self.unreadable.get(kind) or Synced()

    def resource(self, kind: Kind) -> Resource | None:
        """How the kind is addressed."""
        return resource_of_kind(*kind)

    def find(self, kind: Kind, key: Key) -> RawObject | Unavailable | None:
        """The object, None when there is none, or why that is not known."""
        return self.unreadable.get(kind) or self._store(kind).get(key)

    def every(self, kind: Kind, namespace: str) -> tuple[RawObject, ...] | Unavailable:
        """All objects of a namespace, or why they are not known."""
        found = self._store(kind).values()
        return self.unreadable.get(kind) or tuple(
            item for item in found if item.metadata.namespace == namespace
        )

    def made_for(
        self, kind: Kind, namespace: str, maker: str
    ) -> tuple[RawObject, ...] | Unavailable:
        """The companion objects of a Rollout, of one kind."""
        found = self._store(kind).index(MAKER, maker)
        return self.unreadable.get(kind) or tuple(
            item for item in found if item.metadata.namespace == namespace
        )

    def _store(self, kind: Kind) -> Store[RawObject]:
        store = self._stores.get(kind)
        if store is None:
            store = self._stores[kind] = Store({MAKER: lambda item: finding_keys(item.metadata)})
            resource = resource_of_kind(*kind)
            self._projections.follow((resource.group, resource.plural), store, _raw_object)
            store.subscribe(lambda old, new: self._on_change(kind, old, new))
        return store

    def _on_change(self, kind: Kind, old: RawObject | None, new: RawObject | None) -> None:
        for view in (old, new):
            if view is not None:
                self._changed(kind, view.metadata)


class TrackedConfigs:
    """ConfigMaps and Secrets as digests."""

    availability: Availability = Synced()
    kinds = frozenset(ConfigKind)

    def __init__(
        self, projections: Projections, changed: Callable[[ConfigKind, ConfigObject], None]
    ) -> None:
        self._stores: dict[ConfigKind, Store[ConfigObject]] = {}
        for kind, resource in (
            (ConfigKind.CONFIG_MAP, CONFIG_MAPS),
            (ConfigKind.SECRET, SECRETS),
        ):
            store: Store[ConfigObject] = Store(
                {ROLLOUT_UID: lambda found: (found.metadata.labels.get(ROLLOUT_UID, ""),)}
            )
            projections.follow((resource.group, resource.plural), store, _slim)
            store.subscribe(_listener(kind, changed))
            self._stores[kind] = store

    def keep_watched(self, holder: Key) -> None:
        """A Rollout needs them."""

    def release(self, holder: Key) -> None:
        """A Rollout needs them no longer."""

    def find(self, kind: ConfigKind, key: Key) -> ConfigObject | None:
        """An object of a kind that is tracked."""
        return self._stores[kind].get(key)

    def made_for(self, rollout_uid: str) -> Iterable[tuple[ConfigKind, ConfigObject]]:
        """Our copies for a Rollout."""
        for kind, store in self._stores.items():
            for found in store.index(ROLLOUT_UID, rollout_uid):
                yield kind, found


_config = reader_of(ConfigObject)


def _slim(raw: bytes) -> ConfigObject:
    return slimmed(_config(raw))


def _listener(
    kind: ConfigKind, changed: Callable[[ConfigKind, ConfigObject], None]
) -> Callable[[ConfigObject | None, ConfigObject | None], None]:
    def listen(old: ConfigObject | None, new: ConfigObject | None) -> None:
        for view in (old, new):
            if view is not None:
                changed(kind, view)

    return listen
