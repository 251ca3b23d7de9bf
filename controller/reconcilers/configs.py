"""What a pass knows of the ConfigMaps and Secrets that a workload's pods read.

Invariant: nobody is asked, and nothing begins to be watched, for a Rollout that does not ask for it, or without the
administrator's flag; a Rollout that asks in vain is told which flag it is.
"""

from collections.abc import Iterable
from typing import Protocol

from controller.api.config import ConfigKind, ConfigObject
from controller.api.meta import Key
from controller.api.rollout import Rollout
from controller.domain import reasons
from controller.domain.config.seen import TRACKING_IS_OFF, ConfigState, ConfigUnwatched, see_config
from controller.domain.observation import WorkloadSeen
from controller.domain.rollout.config_release import follows_config
from controller.errors import Postponed

WAIT_FOR_CONFIG = 5.0
"""Seconds at most until a pass is tried again while objects are being listed; `ready` comes first."""


class TrackedObjects(Protocol):
    """ConfigMaps and Secrets by name."""

    kinds: frozenset[ConfigKind]

    @property
    def problem(self) -> str:
        """Why nothing is known of them; empty where all is."""
        ...

    def known(self) -> bool:
        """The answers can be relied on; else they are asked for now."""
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
    """What the pods of the workload read, as far as anybody wants to know."""
    if workload is None or not follows_config(rollout):
        return None
    if objects is None or not objects.kinds:
        return ConfigUnwatched(reasons.TRACKING_OFF, TRACKING_IS_OFF)
    if not objects.known():
        raise Postponed(WAIT_FOR_CONFIG, "ConfigMaps and Secrets are being listed")
    if objects.problem:
        return ConfigUnwatched(reasons.CONFIG_UNREADABLE, objects.problem)
    namespace = rollout.metadata.namespace
    return see_config(
        bytes(workload.object.spec.template),
        objects.kinds,
        lambda kind, name: objects.find(kind, Key(namespace, name)),
        objects.made_for(rollout.metadata.uid),
    )
