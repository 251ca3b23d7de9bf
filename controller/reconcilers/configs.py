"""Observes the ConfigMaps and Secrets that a workload's pods read.

Invariant: without the Rollout's annotation or the administrator's flag nothing is requested and nothing is watched; a
Rollout with the annotation but without the flag gets a condition that names the flag.
"""

from collections.abc import Iterable
from typing import Protocol

from controller.api.config import ConfigKind, ConfigObject
from controller.api.meta import Key
from controller.api.rollout import Rollout
from controller.domain import reasons
from controller.domain.availability import (
    Availability,
    Failing,
    Forbidden,
    Loading,
    NotServed,
    Synced,
)
from controller.domain.config.seen import TRACKING_IS_OFF, ConfigState, ConfigUnwatched, see_config
from controller.domain.observation import WorkloadSeen
from controller.domain.rollout.moving.config_release import follows_config
from controller.errors import Postponed

WAIT_FOR_CONFIG = 5.0
"""Longest wait in seconds until a pass is repeated while objects are being listed; usually `ready` wakes it earlier."""


class TrackedObjects(Protocol):
    """ConfigMaps and Secrets by name."""

    kinds: frozenset[ConfigKind]

    @property
    def availability(self) -> Availability:
        """Whether all of them are known."""
        ...

    def keep_watched(self, holder: Key) -> None:
        """A Rollout needs these objects."""
        ...

    def release(self, holder: Key) -> None:
        """A Rollout no longer needs these objects."""
        ...

    def find(self, kind: ConfigKind, key: Key) -> ConfigObject | None:
        """An object of a kind that is tracked."""
        ...

    def made_for(self, rollout_uid: str) -> Iterable[tuple[ConfigKind, ConfigObject]]:
        """Our copies for a Rollout."""
        ...


def config_of(
    rollout: Rollout, workload: WorkloadSeen | None, objects: TrackedObjects | None
) -> ConfigState | None:
    """The configuration that the workload's pods read; None if the Rollout does not track it."""
    if not follows_config(rollout):
        if objects is not None:
            objects.release(rollout.metadata.key)
        return None
    if workload is None:
        return None
    if objects is None or not objects.kinds:
        return ConfigUnwatched(reasons.TRACKING_OFF, TRACKING_IS_OFF)
    objects.keep_watched(rollout.metadata.key)
    match objects.availability:
        case Loading(message=message):
            raise Postponed(WAIT_FOR_CONFIG, message)
        case Forbidden(message=message) | NotServed(message=message) | Failing(message=message):
            return ConfigUnwatched(reasons.CONFIG_UNREADABLE, message)
        case Synced():
            return _seen(rollout, workload, objects)


def _seen(rollout: Rollout, workload: WorkloadSeen, objects: TrackedObjects) -> ConfigState:
    namespace = rollout.metadata.namespace
    made = objects.made_for(rollout.metadata.uid)
    return see_config(
        bytes(workload.object.spec.template),
        objects.kinds,
        lambda kind, name: objects.find(kind, Key(namespace, name)),
        # A copy of the namespace has objects with the same UID.
        (copy for copy in made if copy[1].metadata.namespace == namespace),
    )
