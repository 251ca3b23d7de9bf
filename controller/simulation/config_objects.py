"""ConfigMaps and Secrets of a simulated cluster: kept like the real ones, looked at and written like them.

Invariant: the same preconditions as the real effect; what our copies are made from is the content at that moment.
"""

from typing import assert_never

from msgspec import structs

from controller.api import names
from controller.api.config import ConfigKind, ConfigObject, slimmed
from controller.api.meta import Key, ObjectMeta
from controller.domain.config.references import named
from controller.domain.config.seen import ConfigWatched, see_config
from controller.domain.decision import (
    ConfigAction,
    Done,
    DropConfig,
    KeepConfig,
    Outcome,
    Refusal,
    RestoreConfig,
)
from controller.errors import Conflict
from controller.simulation.shelf import Shelf, Versions

TRACKED = frozenset(ConfigKind)


class ConfigShelves:
    """The ConfigMaps and Secrets there are."""

    def __init__(self, versions: Versions) -> None:
        self._shelves: dict[ConfigKind, Shelf[ConfigObject]] = {
            kind: Shelf(versions, lambda found: found.data) for kind in ConfigKind
        }
        self.forbidden = False
        """Our writes are refused: a right is missing."""

    def of(self, kind: ConfigKind) -> Shelf[ConfigObject]:
        """Those of one kind."""
        return self._shelves[kind]

    def see(self, namespace: str, rollout_uid: str, template: bytes) -> ConfigWatched:
        """What pods of a template read, and the copies of a Rollout."""

        def find(kind: ConfigKind, name: str) -> ConfigObject | None:
            found = self.of(kind).get(Key(namespace, name))
            return slimmed(found) if found is not None else None

        copies = [
            (kind, slimmed(found))
            for kind in ConfigKind
            for found in self.of(kind)
            if found.metadata.labels.get(names.ROLLOUT_UID) == rollout_uid
        ]
        return see_config(template, TRACKED, find, copies)

    def apply(self, action: ConfigAction) -> Outcome:
        """What the effect does."""
        if self.forbidden:
            return Refusal("Forbidden", f"{action.kind} may not be written", retry_after=30.0)
        shelf = self.of(action.kind)
        match action:
            case KeepConfig():
                self._keep(shelf, action)
            case RestoreConfig(target=target, copy=copy, digest=digest):
                kept, live = shelf.get(Key(target.namespace, copy)), shelf[target]
                if live.metadata.resource_version != action.resource_version:
                    raise Conflict(f"{target} has changed", status=409)
                if kept is not None and slimmed(kept).digest == digest:
                    shelf.put(structs.replace(live, data=kept.data))
            case DropConfig(copy=key):
                shelf.delete(key)
            case _:
                assert_never(action)
        return Done(wrote=True)

    def _keep(self, shelf: Shelf[ConfigObject], action: KeepConfig) -> None:
        source = shelf.get(action.source)
        if source is None or slimmed(source).digest != action.digest:
            return
        key = Key(action.source.namespace, action.copy)
        meta = ObjectMeta(
            name=key.name,
            namespace=key.namespace,
            labels={names.ROLLOUT_UID: action.rollout.uid},
            annotations={names.KEPT_CONFIG_OF: named(action.kind, action.source.name)},
            owner_references=(action.rollout,),
        )
        present = shelf.get(key)
        shelf.put(
            structs.replace(
                source, metadata=meta if present is None else present.metadata, immutable=None
            )
        )
