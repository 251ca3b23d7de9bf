"""The ConfigMaps with scripts of namespaces, each watched by its name while a `scriptRef` names it.

Why by name: the controller has no right to the ConfigMaps of a cluster; a namespace gives it the right to one.
Invariant: one watch for all who name a ConfigMap, ended with the last of them. A ConfigMap that is not known is an
`Unavailable` with its reason, never an absent one. Tenants name them freely, so their number is bounded.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from random import Random

from controller.api.meta import Key
from controller.domain.availability import Availability, Failing, Synced, Unavailable
from controller.kube.reflector import Reflector, Watchable
from controller.kube.resources import CONFIG_MAPS
from controller.kube.store import Store
from controller.reconcilers.scripts import ConfigMap

MAX_PER_NAMESPACE = 8
"""ConfigMaps that the Rollouts and TrafficRoutings of a namespace may name."""
MAX_CONFIG_MAPS = 256
"""ConfigMaps that are watched in all."""


class _Watch:
    """One ConfigMap, and who needs it."""

    def __init__(self, client: Watchable, key: Key, told: Callable[[], None], random: Random):
        self.store: Store[ConfigMap] = Store()
        self.store.subscribe(lambda old, new: told())
        self.holders: set[Key] = set()
        self.reflector = Reflector(
            client,
            CONFIG_MAPS,
            self.store,
            ConfigMap,
            namespace=key.namespace,
            field_selector=f"metadata.name={key.name}",
            told=told,
            random=random,
        )


class OwnScripts:
    """The ConfigMaps that are named; `run` owns their watches."""

    def __init__(self, client: Watchable, wake: Callable[[Key], None], random: Random) -> None:
        """`wake` is told of everybody who names a ConfigMap that changed, or is known only now, or no longer."""
        self._client = client
        self._wake = wake
        self._random = random
        self._watches: dict[Key, _Watch] = {}
        self._left_out: dict[Key, frozenset[Key]] = {}
        self._turned = asyncio.Event()

    def keep_watched(self, owner: Key, config_maps: Iterable[Key]) -> None:
        """`owner` needs these ConfigMaps, and no others any more."""
        wanted = frozenset(config_maps)
        self._left_out.pop(owner, None)
        for key in sorted(wanted):
            if key not in self._watches and self._is_room_for(key):
                self._watches[key] = self._watch(key)
                self._turned.set()
            if key in self._watches:
                self._watches[key].holders.add(owner)
            else:
                self._left_out[owner] = wanted
        held = {key for key, watch in self._watches.items() if owner in watch.holders}
        for key in held - wanted:
            self._let_go(key, owner)

    def availability(self, config_map: Key) -> Availability:
        """Whether the ConfigMap is known."""
        watch = self._watches.get(config_map)
        if watch is not None:
            return watch.reflector.availability
        return Failing(
            f"it is not watched: the Rollouts and TrafficRoutings of a namespace may name {MAX_PER_NAMESPACE} "
            f"ConfigMaps with scripts, and {MAX_CONFIG_MAPS} are watched in all; name fewer"
        )

    def data(self, config_map: Key) -> Mapping[str, str] | Unavailable | None:
        """The data of the ConfigMap, None where there is none, or why that is not known."""
        stands = self.availability(config_map)
        if not isinstance(stands, Synced):
            return stands
        found = self._watches[config_map].store.get(config_map)
        return (found.data or {}) if found is not None else None

    async def run(self) -> None:
        """Watch what is named, until cancelled."""
        tasks: dict[Key, tuple[_Watch, asyncio.Task[None]]] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                self._turned.clear()
                for key, (watch, task) in list(tasks.items()):
                    if self._watches.get(key) is not watch:
                        task.cancel()
                        del tasks[key]
                for key in self._watches.keys() - tasks.keys():
                    watch = self._watches[key]
                    task = group.create_task(watch.reflector.run(), name=f"watch ConfigMap {key}")
                    tasks[key] = (watch, task)
                await self._turned.wait()

    def _is_room_for(self, key: Key) -> bool:
        of_namespace = sum(1 for other in self._watches if other.namespace == key.namespace)
        return of_namespace < MAX_PER_NAMESPACE and len(self._watches) < MAX_CONFIG_MAPS

    def _watch(self, key: Key) -> _Watch:
        return _Watch(self._client, key, lambda: self._told(key), self._random)

    def _told(self, key: Key) -> None:
        watch = self._watches.get(key)
        for owner in tuple(watch.holders) if watch is not None else ():
            self._wake(owner)

    def _let_go(self, key: Key, owner: Key) -> None:
        holders = self._watches[key].holders
        holders.discard(owner)
        if holders:
            return
        del self._watches[key]
        self._turned.set()
        for waiting in tuple(self._left_out):
            self._wake(waiting)
