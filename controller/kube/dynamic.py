"""Kinds that are learnt of at run time: gateway objects, sets of pods, autoscalers; watched while somebody holds them.

Invariant: whoever reads says before which kinds it needs (`hold`), all of them at once; a kind that nobody holds any
more is neither watched nor looked up. An unknown state is an `Unavailable` with its reason, never an empty answer.
Tenants name kinds freely, so their number is bounded, for a namespace and in all.
"""

import asyncio
from collections.abc import Callable, Iterable
from random import Random

from controller.api.meta import Key, ObjectMeta
from controller.domain.availability import Availability, Failing, Synced, Unavailable
from controller.kube.client import KubeClient
from controller.kube.crds import CustomResources
from controller.kube.kind_watch import (
    MAKER,
    Kind,
    KindWatch,
    RawObject,
    Surroundings,
    Unfollow,
)
from controller.kube.reflector import ReflectorMetrics
from controller.kube.resources import Resource
from controller.kube.store import Store

MAX_KINDS_PER_NAMESPACE = 32
"""Kinds that the Rollouts and TrafficRoutings of one namespace may name."""
MAX_KINDS = 256
"""Kinds that are watched in all."""

Owner = Key
"""Who holds: a Rollout, or what gateway objects call a TrafficRouting."""


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
        """`ready` is told of everybody who holds a kind of which something else is known now."""
        self._crds = CustomResources(client, self._crd_changed, random, metrics)
        self._around = Surroundings(client, self._crds, namespace, follow, changed, random, metrics)
        self._ready = ready
        self._held: dict[Owner, frozenset[Kind]] = {}
        self._holders: dict[Kind, set[Owner]] = {}
        self._left_out: dict[Owner, frozenset[Kind]] = {}
        self._watched: dict[Kind, KindWatch] = {}
        self._turned = asyncio.Event()
        self.epoch = 0
        """Grows with every change of what is served: what was looked up before may be another now."""

    # --- who needs what ---------------------------------------------------------------------------

    def keep_watched(self, owner: Owner, kinds: Iterable[Kind]) -> None:
        """`owner` needs these kinds, and no others any more."""
        wanted = frozenset(kinds)
        if self._held.get(owner, frozenset()) == wanted and owner not in self._left_out:
            return
        before = self._held.pop(owner, frozenset())
        granted = self._granted(owner, wanted)
        if granted:
            self._held[owner] = granted
        self._left_out.pop(owner, None)
        if wanted - granted:
            self._left_out[owner] = wanted - granted
        for kind in granted:
            self._holders.setdefault(kind, set()).add(owner)
            if kind not in self._watched:
                self._watched[kind] = KindWatch(kind, self._around, self._told)
                self._turned.set()
        for kind in before - granted:
            self._let_go(kind, owner)

    def _granted(self, owner: Owner, wanted: frozenset[Kind]) -> frozenset[Kind]:
        held: set[Kind] = set()
        for other, kinds in self._held.items():
            if other.namespace == owner.namespace:
                held |= kinds
        granted = wanted & held
        for kind in sorted(wanted - held):
            full = len(self._watched) >= MAX_KINDS and kind not in self._watched
            if len(held) < MAX_KINDS_PER_NAMESPACE and not full:
                held.add(kind)
                granted |= {kind}
        return granted

    def _let_go(self, kind: Kind, owner: Owner) -> None:
        holders = self._holders[kind]
        holders.discard(owner)
        if holders:
            return
        del self._holders[kind], self._watched[kind]
        self._turned.set()
        for waiting in tuple(self._left_out):
            self._ready(waiting)

    # --- what is known ----------------------------------------------------------------------------

    def availability(self, kind: Kind) -> Availability:
        """Whether the objects of a kind that is held are known."""
        watched = self._watched.get(kind)
        if watched is not None:
            return watched.availability
        return Failing(
            f"{kind[1]} ({kind[0]}) is not watched: the Rollouts and TrafficRoutings of a namespace may name "
            f"{MAX_KINDS_PER_NAMESPACE} kinds of objects, and {MAX_KINDS} are watched in all; name fewer kinds"
        )

    def find(self, kind: Kind, key: Key) -> RawObject | Unavailable | None:
        """The object, None when there is none, or why that is not known."""
        store = self._store(kind)
        return store.get(key) if isinstance(store, Store) else store

    def every(self, kind: Kind, namespace: str) -> tuple[RawObject, ...] | Unavailable:
        """All objects of a namespace, or why they are not known."""
        store = self._store(kind)
        if not isinstance(store, Store):
            return store
        return tuple(found for found in store.values() if found.metadata.namespace == namespace)

    def made_for(
        self, kind: Kind, namespace: str, rollout_uid: str
    ) -> tuple[RawObject, ...] | Unavailable:
        """Objects of a kind that were made for a Rollout, or why they are not known."""
        store = self._store(kind)
        if not isinstance(store, Store):
            return store
        found = store.index(MAKER, rollout_uid)
        return tuple(item for item in found if item.metadata.namespace == namespace)

    def resource(self, kind: Kind) -> Resource | None:
        """How the kind is addressed, once it was found."""
        watched = self._watched.get(kind)
        return watched.resource if watched is not None else None

    def _store(self, kind: Kind) -> Store[RawObject] | Unavailable:
        stands = self.availability(kind)
        if not isinstance(stands, Synced):
            return stands
        store = self._watched[kind].store
        assert store is not None
        return store

    # --- running ----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Watch what is held, until cancelled."""
        tasks: dict[KindWatch, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            group.create_task(self._crds.run(), name="watch CRDs")
            while True:
                self._turned.clear()
                wanted = frozenset(self._watched.values())
                for ended in tasks.keys() - wanted:
                    tasks.pop(ended).cancel()
                for watch in wanted - tasks.keys():
                    tasks[watch] = group.create_task(watch.run(), name=f"watch {watch.kind[1]}")
                self._mind_crds()
                await self._turned.wait()

    def _mind_crds(self) -> None:
        """CRDs matter to kinds whose group may be one of theirs: it has a dot."""
        if any("." in kind[0].partition("/")[0] for kind in self._watched):
            self._crds.ask()
        else:
            self._crds.rest()

    def _crd_changed(self, group: str) -> None:
        self.epoch += 1
        for kind, watch in self._watched.items():
            if kind[0].rpartition("/")[0] == group:
                watch.poke()

    def _told(self, kind: Kind) -> None:
        self.epoch += 1
        for owner in tuple(self._holders.get(kind, ())):
            self._ready(owner)
