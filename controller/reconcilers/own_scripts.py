"""The ConfigMaps with scripts of namespaces, each watched by its name while a `scriptRef` names it.

Why by name: the controller has no right to the ConfigMaps of a cluster; a namespace gives it the right to one.
Invariant: all Rollouts that name a ConfigMap share one watch, which ends with the last of them. An unknown ConfigMap is
an `Unavailable` with its reason, never a missing one.
"""

from collections.abc import Callable, Iterable, Mapping
from random import Random

from controller.api.meta import Key
from controller.domain.availability import Availability, Failing, Synced, Unavailable
from controller.kube.held_watches import Bounds, HeldWatches, Owner
from controller.kube.reflector import Reflector, Watchable
from controller.kube.resources import CONFIG_MAPS
from controller.kube.store import Store
from controller.reconcilers.scripts import ConfigMap

BOUNDS = Bounds(of_a_namespace=8, in_all=256)
"""ConfigMaps with scripts that Rollouts and TrafficRoutings may name."""


class _Watch:
    """One ConfigMap."""

    def __init__(
        self, client: Watchable, key: Key, notify: Callable[[Key], None], random: Random
    ) -> None:
        self.store: Store[ConfigMap] = Store()
        self.store.subscribe(lambda old, new: notify(key))
        self.reflector = Reflector(
            client,
            CONFIG_MAPS,
            self.store,
            ConfigMap,
            namespace=key.namespace,
            field_selector=f"metadata.name={key.name}",
            notify=lambda: notify(key),
            random=random,
        )
        self.run = self.reflector.run


class OwnScripts:
    """The ConfigMaps that are named; `run` owns their watches."""

    def __init__(self, client: Watchable, wake: Callable[[Owner], None], random: Random) -> None:
        """`wake` is called for everything that names a ConfigMap which changed, became known, or became unknown."""
        self._client = client
        self._random = random
        self._watches = HeldWatches[Key, _Watch](self._watch, BOUNDS, wake)
        self.run = self._watches.run

    def keep_watched(self, owner: Owner, config_maps: Iterable[Key]) -> None:
        """`owner` needs these ConfigMaps, and no others any more."""
        self._watches.keep(owner, config_maps)

    def availability(self, config_map: Key) -> Availability:
        """Whether the ConfigMap is known."""
        watch = self._watches.get(config_map)
        if watch is not None:
            return watch.reflector.availability
        return Failing(
            f"it is not watched: the Rollouts and TrafficRoutings of a namespace may name {BOUNDS.of_a_namespace} "
            f"ConfigMaps with scripts, and {BOUNDS.in_all} are watched in all; name fewer"
        )

    def data(self, config_map: Key) -> Mapping[str, str] | Unavailable | None:
        """The data of the ConfigMap; None if it does not exist; or why that is not known."""
        state = self.availability(config_map)
        if not isinstance(state, Synced):
            return state
        watch = self._watches.get(config_map)
        assert watch is not None
        found = watch.store.get(config_map)
        return (found.data or {}) if found is not None else None

    def _watch(self, key: Key) -> _Watch:
        return _Watch(self._client, key, self._watches.wake_holders, self._random)
