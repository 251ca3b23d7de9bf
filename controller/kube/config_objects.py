"""The ConfigMaps and Secrets that pods read: watched from the first Rollout that asks, as digests.

Invariant: without the administrator's flag, or before anybody asks, there is no request and no watch. Each object is
slimmed before anything keeps it, so no content is in a cache. Why all of a namespace, and not those that are named: a
watch of single names is a request for each of them.
"""

import asyncio
from collections.abc import Callable, Iterable
from random import Random

from controller.api.config import ConfigKind, ConfigObject, slimmed
from controller.api.meta import Key
from controller.api.names import ROLLOUT_UID
from controller.kube.reflector import Reflector, ReflectorMetrics, Watchable
from controller.kube.resources import CONFIG_MAPS, SECRETS
from controller.kube.store import Store

_RESOURCES = {ConfigKind.CONFIG_MAP: CONFIG_MAPS, ConfigKind.SECRET: SECRETS}
_MADE_FOR = "rolloutUID"

Changed = Callable[[ConfigKind, ConfigObject], None]


class ConfigObjects:
    """Caches of the kinds that the administrator lets us track; `run` owns their watches."""

    def __init__(
        self,
        client: Watchable,
        kinds: frozenset[ConfigKind],
        *,
        namespace: str | None,
        changed: Changed,
        ready: Callable[[], None],
        follow: Callable[[str, Store[ConfigObject]], None],
        random: Random,
        metrics: ReflectorMetrics | None = None,
    ) -> None:
        self.kinds = kinds
        self._ready = ready
        self._asked = asyncio.Event()
        self._reflectors: dict[ConfigKind, Reflector[ConfigObject]] = {}
        for kind in sorted(kinds):
            store: Store[ConfigObject] = Store({_MADE_FOR: _rollout_of})
            follow(_RESOURCES[kind].name, store)
            store.subscribe(_teller(kind, changed))
            self._reflectors[kind] = Reflector(
                client,
                _RESOURCES[kind],
                store,
                ConfigObject,
                namespace=namespace,
                transform=slimmed,
                random=random,
                metrics=metrics,
            )

    def known(self) -> bool:
        """The answers can be relied on; else they are asked for now, and `ready` will be called."""
        self._asked.set()
        return all(one.synced.is_set() or one.problem for one in self._reflectors.values())

    @property
    def problem(self) -> str:
        """Why nothing is known of them; empty where all is, or was before the watch was interrupted."""
        unlisted = (one for one in self._reflectors.values() if not one.synced.is_set())
        return next((one.problem for one in unlisted if one.problem), "")

    def find(self, kind: ConfigKind, key: Key) -> ConfigObject | None:
        """An object of a kind that is tracked."""
        return self._reflectors[kind].store.get(key)

    def made_for(self, rollout_uid: str) -> Iterable[tuple[ConfigKind, ConfigObject]]:
        """Our copies for a Rollout."""
        for kind, reflector in self._reflectors.items():
            for found in reflector.store.index(_MADE_FOR, rollout_uid):
                yield kind, found

    async def run(self) -> None:
        """Watch once somebody has asked, until cancelled."""
        await self._asked.wait()
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors.values():
                group.create_task(reflector.run(), name=f"watch {reflector.resource.plural}")
            for reflector in self._reflectors.values():
                await reflector.synced.wait()
            self._ready()


def _rollout_of(found: ConfigObject) -> Iterable[str]:
    uid = found.metadata.labels.get(ROLLOUT_UID, "")
    return (uid,) if uid else ()


def _teller(
    kind: ConfigKind, changed: Changed
) -> Callable[[ConfigObject | None, ConfigObject | None], None]:
    """Tells of an object that says something else; most changes of a ConfigMap of a cluster are none."""

    def heard(old: ConfigObject | None, new: ConfigObject | None) -> None:
        if old is not None and new is not None and _alike(old, new):
            return
        for view in (old, new):
            if view is not None:
                changed(kind, view)

    return heard


def _alike(old: ConfigObject, new: ConfigObject) -> bool:
    return (old.digest, old.immutable, old.left_out) == (new.digest, new.immutable, new.left_out)
