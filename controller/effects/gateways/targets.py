"""Which objects a plan is about, and how they stand.

Several references may name one object (two Services behind one VirtualService): it is read and written once, and the
references' scripts work on it one after the other. Invariant: nothing is written here.
"""

import asyncio

import msgspec

from controller.domain.decision import Reference, Refusal
from controller.domain.traffic.drift import Standing, judge, name_of
from controller.effects.gateways import refusals
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
    return tuple(Target(tuple(found), name_of(found[0], namespace)) for found in named.values())


class Look:
    """Reads objects."""

    def __init__(self, objects: GatewayObjects, *, allow_cluster_scoped: bool) -> None:
        self._objects = objects
        self._allow_cluster_scoped = allow_cluster_scoped

    async def refused_kind(self, target: Target) -> Refusal | None:
        """A kind that is not served, or not the namespace's to change."""
        match await self._objects.scope(target.reference):
            case None:
                return refusals.kind_not_served(target.reference, target.subject)
            case Scope.CLUSTER if not self._allow_cluster_scoped:
                return refusals.cluster_scoped(target.reference, target.subject)
            case _:
                return None

    async def read(self, target: Target, namespace: str) -> Standing | Refusal | None:
        """How the object stands; None when it does not exist."""
        try:
            raw = await self._objects.read(target.reference, namespace)
        except NotFound:
            return None
        except Forbidden as failure:
            return refusals.forbidden(failure, target.subject)
        return judge(raw, target.subject)

    async def read_all(
        self, targets: tuple[Target, ...], namespace: str
    ) -> list[Standing | Refusal | None]:
        """All of them at once; a failure of the server is raised when all reads have ended."""
        found = await asyncio.gather(
            *(self.read(target, namespace) for target in targets), return_exceptions=True
        )
        answers: list[Standing | Refusal | None] = []
        for item in found:
            if isinstance(item, BaseException):
                raise item
            answers.append(item)
        return answers
