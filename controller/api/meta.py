"""Metadata every Kubernetes object carries, in the part that Moonshift reads.

Invariant: frozen and complete for reading; never sent back (writes are patches), so unknown fields cannot be lost.
"""

from datetime import datetime
from typing import NamedTuple

import msgspec


class Key(NamedTuple):
    """Identity of a namespaced object within its kind."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(msgspec.Struct, frozen=True, rename="camel"):
    """One owner; `controller` marks the one that manages the object."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata Moonshift reads. `generation` counts changes of the spec."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return Key(self.namespace, self.name)

    @property
    def controller(self) -> OwnerReference | None:
        """The managing owner."""
        return next((owner for owner in self.owner_references if owner.controller), None)

    @property
    def controller_uid(self) -> str:
        """UID of the managing owner, or an empty string."""
        owner = self.controller
        return owner.uid if owner is not None else ""

    @property
    def deleting(self) -> bool:
        """Whether deletion was requested; finalizers may still hold the object."""
        return self.deletion_timestamp is not None


class Condition(msgspec.Struct, frozen=True, rename="camel", omit_defaults=False):
    """One condition of a status, with the timestamps that kstatus and kubectl read."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_update_time: datetime | None = None
    last_transition_time: datetime | None = None
