"""The gateway objects of a plan, and their states.

Several references may name one object (two Services behind one VirtualService): it is read and written once, and the
references' scripts run on it one after the other. Invariant: nothing is written here.
"""

import msgspec

from controller.domain.decision import Reference, Refusal
from controller.domain.traffic.drift.object_state import ObjectState, read_object_state
from controller.effects.gateways import failed_writes
from controller.effects.gateways.contracts import GatewayObjects, Scope
from controller.errors import Forbidden, NotFound


class Target(msgspec.Struct, frozen=True):
    """One object and all references that name it."""

    references: tuple[Reference, ...]
    subject: str

    @property
    def reference(self) -> Reference:
        """The reference the object is read and written by."""
        return self.references[0]


def targets_of(references: tuple[Reference, ...], namespace: str) -> tuple[Target, ...]:
    """The objects, in the order they are first named."""
    named: dict[tuple[str, str, str], list[Reference]] = {}
    for reference in references:
        named.setdefault((reference.group, reference.kind, reference.name), []).append(reference)
    return tuple(Target(tuple(found), found[0].name_in(namespace)) for found in named.values())


class Look:
    """Reads objects."""

    def __init__(self, objects: GatewayObjects, *, allow_cluster_scoped: bool) -> None:
        self._objects = objects
        self._allow_cluster_scoped = allow_cluster_scoped

    async def refused_kind(self, target: Target) -> Refusal | None:
        """A refusal for a kind that is not served, or that is cluster-scoped."""
        match await self._objects.scope(target.reference):
            case None:
                return failed_writes.kind_not_served(target.reference, target.subject)
            case Scope.CLUSTER if not self._allow_cluster_scoped:
                return failed_writes.cluster_scoped(target.reference, target.subject)
            case _:
                return None

    async def read(self, target: Target, namespace: str) -> ObjectState | Refusal | None:
        """The state of the object; None when it does not exist."""
        try:
            raw = await self._objects.read(target.reference, namespace)
        except NotFound:
            return None
        except Forbidden as failure:
            return failed_writes.forbidden(failure, target.subject)
        return read_object_state(raw, target.subject)

    async def read_all(
        self, targets: tuple[Target, ...], namespace: str
    ) -> list[ObjectState | Refusal | None]:
        """The states of all objects, read one after the other: an object in use is watched, so reading it causes no
        request.
        """
        return [await self.read(target, namespace) for target in targets]
