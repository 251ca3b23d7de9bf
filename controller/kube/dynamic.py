"""Kinds that Rollouts name at run time: gateway objects, sets of pods, autoscalers; watched while an owner holds them.

Invariant: a reader first declares all kinds that it needs (`keep_watched`); a kind without a holder is neither watched
nor looked up. An unknown state is an `Unavailable` with its reason, never an empty answer; also that of one object
which cannot be read, while all others of its kind are known.
"""

import asyncio
from collections.abc import Callable, Iterable
from random import Random

from controller.api.meta import Key, ObjectMeta
from controller.domain.availability import Availability, Failing, Synced, Unavailable
from controller.kube.client import KubeClient
from controller.kube.crds import CustomResources
from controller.kube.held_watches import Bounds, HeldWatches, Owner
from controller.kube.kind_watch import (
    MAKER,
    NAMESPACE,
    Kind,
    KindWatch,
    RawObject,
    Surroundings,
    Unfollow,
)
from controller.kube.reflector import ReflectorMetrics
from controller.kube.resources import Resource
from controller.kube.store import Store

BOUNDS = Bounds(of_a_namespace=32, in_all=256)
"""Kinds that Rollouts and TrafficRoutings may name."""


class DynamicKinds:
    """Caches of the kinds that are held; `run` owns their watches."""

    def __init__(
        self,
        client: KubeClient,
        *,
        namespace: str | None,
        changed: Callable[[Kind, ObjectMeta], None],
        ready: Callable[[Owner], None],
        follow: Callable[[str, Store[RawObject]], Unfollow],
        random: Random,
        metrics: ReflectorMetrics | None = None,
    ) -> None:
        """`ready` is called with each holder of a kind whose state has changed."""
        self._crds = CustomResources(client, self._crd_changed, random, metrics)
        self._around = Surroundings(client, self._crds, namespace, follow, changed, random, metrics)
        self._watches = HeldWatches[Kind, KindWatch](self._watch, BOUNDS, ready)
        self.epoch = 0
        """Increases with every change of the served kinds: earlier look-ups may be outdated then."""

    # --- the holders ---------------------------------------------------------------------------

    def keep_watched(self, owner: Owner, kinds: Iterable[Kind]) -> None:
        """`owner` needs these kinds, and no others any more."""
        self._watches.keep(owner, kinds)

    # --- the states ----------------------------------------------------------------------------

    def availability(self, kind: Kind) -> Availability:
        """Whether the objects of a kind that is held are known."""
        watched = self._watches.get(kind)
        if watched is not None:
            return watched.availability
        return Failing(
            f"{kind[1]} ({kind[0]}) is not watched: the Rollouts and TrafficRoutings of a namespace may name "
            f"{BOUNDS.of_a_namespace} kinds of objects, and {BOUNDS.in_all} are watched in all; name fewer kinds"
        )

    def find(self, kind: Kind, key: Key) -> RawObject | Unavailable | None:
        """The object, None when there is none, or why that is not known."""
        store = self._store(kind)
        if not isinstance(store, Store):
            return store
        found = store.get(key)
        return found if found is None or not found.problem else _unreadable(kind, found)

    def every(self, kind: Kind, namespace: str) -> tuple[RawObject, ...] | Unavailable:
        """All objects of a namespace, or why they are not known."""
        store = self._store(kind)
        if not isinstance(store, Store):
            return store
        return _all_readable(kind, store.index(NAMESPACE, namespace))

    def made_for(
        self, kind: Kind, namespace: str, maker: str
    ) -> tuple[RawObject, ...] | Unavailable:
        """Objects of a kind that were made for a Rollout, or why they are not known."""
        store = self._store(kind)
        if not isinstance(store, Store):
            return store
        found = store.index(MAKER, maker)
        return _all_readable(
            kind, tuple(item for item in found if item.metadata.namespace == namespace)
        )

    def resource(self, kind: Kind) -> Resource | None:
        """How the kind is addressed, once it was found."""
        watched = self._watches.get(kind)
        return watched.resource if watched is not None else None

    def _store(self, kind: Kind) -> Store[RawObject] | Unavailable:
        state = self.availability(kind)
        if not isinstance(state, Synced):
            return state
        watched = self._watches.get(kind)
        assert watched is not None
        return watched.objects

    # --- running ----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Watch the kinds that are held, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._crds.run(), name="watch CRDs")
            group.create_task(self._watches.run(self._mind_crds), name="kinds")

    def _watch(self, kind: Kind) -> KindWatch:
        return KindWatch(kind, self._around, self._wake_holders)

    def _mind_crds(self) -> None:
        """CRDs matter only to kinds whose group can be declared by a CRD: its name has a dot."""
        if any("." in kind[0].partition("/")[0] for kind, _ in self._watches.items()):
            self._crds.ask()
        else:
            self._crds.rest()

    def _crd_changed(self, group: str) -> None:
        self.epoch += 1
        for kind, watch in self._watches.items():
            if kind[0].rpartition("/")[0] == group:
                watch.poke()

    def _wake_holders(self, kind: Kind) -> None:
        self.epoch += 1
        self._watches.wake_holders(kind)


def _all_readable(kind: Kind, found: tuple[RawObject, ...]) -> tuple[RawObject, ...] | Unavailable:
    """These objects; why they are not known if one of them cannot be read, because it may be the one that matters."""
    for item in found:
        if item.problem:
            return _unreadable(kind, item)
    return found


def _unreadable(kind: Kind, found: RawObject) -> Failing:
    return Failing(f"{kind[1]} {found.metadata.key} cannot be read: {found.problem}")
