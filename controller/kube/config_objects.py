"""The ConfigMaps and Secrets that pods read, kept as digests and watched while a Rollout tracks them.

Invariant: without the administrator's flag, or while nobody asks, there is no request and no watch. Each object is
slimmed before anything keeps it, so no content is in a cache. Why all of a namespace, and not only the named ones: a
watch of single names is a request for each name.
"""

import asyncio
from collections.abc import Callable, Iterable
from random import Random

from controller.api.config import ConfigKind, ConfigObject, slimmed
from controller.api.meta import Key
from controller.api.names import ROLLOUT_UID
from controller.domain.availability import Availability, Loading, Synced
from controller.kube.reflector import Reflector, ReflectorMetrics, Watchable
from controller.kube.resources import CONFIG_MAPS, SECRETS
from controller.kube.store import Store

_RESOURCES = {ConfigKind.CONFIG_MAP: CONFIG_MAPS, ConfigKind.SECRET: SECRETS}
_MADE_FOR = "rolloutUID"

Changed = Callable[[ConfigKind, ConfigObject], None]
Follow = Callable[[str, Store[ConfigObject]], Callable[[], None]]


class ConfigObjects:
    """Caches of the kinds that the administrator lets us track, while somebody holds them; `run` owns their watches."""

    def __init__(
        self,
        client: Watchable,
        kinds: frozenset[ConfigKind],
        *,
        namespace: str | None,
        changed: Changed,
        ready: Callable[[], None],
        follow: Follow,
        random: Random,
        metrics: ReflectorMetrics | None = None,
    ) -> None:
        self.kinds = kinds
        self._client = client
        self._namespace = namespace
        self._changed = changed
        self._ready = ready
        self._follow = follow
        self._random = random
        self._metrics = metrics
        self._holders: set[Key] = set()
        self._turned = asyncio.Event()
        self._reflectors: dict[ConfigKind, Reflector[ConfigObject]] = {}

    def keep_watched(self, holder: Key) -> None:
        """A Rollout needs them from now on."""
        self._holders.add(holder)
        self._turned.set()

    def release(self, holder: Key) -> None:
        """A Rollout needs them no longer; with the last one, the watches end."""
        self._holders.discard(holder)
        self._turned.set()

    @property
    def availability(self) -> Availability:
        """Whether all of them are known."""
        if not self._reflectors:
            return Loading("ConfigMaps and Secrets are being listed")
        states = [reflector.availability for reflector in self._reflectors.values()]
        return next((one for one in states if not isinstance(one, Synced)), Synced())

    def find(self, kind: ConfigKind, key: Key) -> ConfigObject | None:
        """An object of a kind that is tracked; the availability first."""
        return self._reflectors[kind].store.get(key)

    def made_for(self, rollout_uid: str) -> Iterable[tuple[ConfigKind, ConfigObject]]:
        """Our copies for a Rollout."""
        for kind, reflector in self._reflectors.items():
            for found in reflector.store.index(_MADE_FOR, rollout_uid):
                yield kind, found

    async def run(self) -> None:
        """Watch while somebody holds them, until cancelled."""
        while True:
            await self._until(wanted=True)
            watching = asyncio.create_task(self._watch())
            try:
                await self._until(wanted=False)
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)

    async def _until(self, *, wanted: bool) -> None:
        while bool(self._holders) != wanted:
            self._turned.clear()
            await self._turned.wait()

    async def _watch(self) -> None:
        unfollow: list[Callable[[], None]] = []
        for kind in sorted(self.kinds):
            store: Store[ConfigObject] = Store({_MADE_FOR: _rollout_of})
            unfollow.append(self._follow(_RESOURCES[kind].name, store))
            store.subscribe(_listener(kind, self._changed))
            self._reflectors[kind] = Reflector(
                self._client,
                _RESOURCES[kind],
                store,
                ConfigObject,
                namespace=self._namespace,
                transform=slimmed,
                notify=self._ready,
                random=self._random,
                metrics=self._metrics,
            )
        try:
            async with asyncio.TaskGroup() as group:
                for reflector in self._reflectors.values():
                    group.create_task(reflector.run(), name=f"watch {reflector.resource.plural}")
        finally:
            self._reflectors = {}
            for end in unfollow:
                end()


def _rollout_of(found: ConfigObject) -> Iterable[str]:
    uid = found.metadata.labels.get(ROLLOUT_UID, "")
    return (uid,) if uid else ()


def _listener(
    kind: ConfigKind, changed: Changed
) -> Callable[[ConfigObject | None, ConfigObject | None], None]:
    """Reports an object whose content changed; most changes of a cluster's ConfigMaps leave the content as it is."""

    def listen(old: ConfigObject | None, new: ConfigObject | None) -> None:
        if old is not None and new is not None and _alike(kind, old, new):
            return
        for view in (old, new):
            if view is not None:
                changed(kind, view)

    return listen


def _alike(kind: ConfigKind, old: ConfigObject, new: ConfigObject) -> bool:
    was, now = ((one.digest, one.immutable, one.left_out(kind)) for one in (old, new))
    return was == now
