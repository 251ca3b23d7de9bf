"""The sources of an observation beside the kinds that Rollouts name: Protocols, so that tests can bind others.

Invariant: both answer from memory, at once.
"""

from collections.abc import Iterable
from typing import Protocol

from controller.api.meta import Key
from controller.domain.availability import Availability, Unavailable
from controller.kube.resources import Resource


class OwnScripts(Protocol):
    """The ConfigMaps of namespaces that `scriptRef` names."""

    def keep_watched(self, owner: Key, config_maps: Iterable[Key]) -> None:
        """`owner` needs exactly these from now on."""
        ...

    def availability(self, config_map: Key) -> Availability:
        """Whether the ConfigMap is known."""
        ...


class Sources(Protocol):
    """The caches that are filled from the start."""

    def unavailable(self, kinds: Iterable[Resource]) -> Unavailable | None:
        """Why the objects of one of these kinds are not known; None when all are."""
        ...
