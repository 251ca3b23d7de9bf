"""The ConfigMap of scripts: one object, watched, in the controller's own namespace.

Invariant: only that one object is read (the original listed ConfigMaps of the whole cluster, B45); no
ConfigMap means no scripts of it, which is not an error.
"""

from collections.abc import Mapping

import msgspec

from controller.api.meta import Key, ObjectMeta
from controller.api.names import CONFIGURATION
from controller.kube.store import Store


class ConfigMap(msgspec.Struct, frozen=True):
    """A ConfigMap's data."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None


class ConfiguredScriptsMap:
    """The present content of the ConfigMap of scripts."""

    def __init__(self, namespace: str) -> None:
        self.store: Store[ConfigMap] = Store()
        self._key = Key(namespace, CONFIGURATION)

    def data(self) -> Mapping[str, str] | None:
        """Scripts by key; None when there is no ConfigMap."""
        found = self.store.get(self._key)
        return (found.data or {}) if found is not None else None
