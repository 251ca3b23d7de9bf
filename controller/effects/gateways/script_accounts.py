"""Checks the rights of the ServiceAccount that a reference with a namespace's script names.

Why: the controller may write every gateway object, and the author of a Rollout must not gain that right through it.
Invariant: the API server is asked before each write, and before the script gets an object; every answer but a clear yes
stops the writes to all objects of the step. Restoring needs no right: it restores an owner's own object, without a
script.
"""

from collections.abc import Iterable, Iterator

import msgspec

from controller.domain.decision import OwnScript, Reference, Refusal
from controller.domain.traffic.tree import Tree
from controller.effects.gateways import failed_writes
from controller.effects.gateways.contracts import AccountRights, GatewayObjects
from controller.effects.gateways.targets import Target
from controller.errors import Right

LEADING = ("get", "patch", "update")
"""The verbs that a script needs on the object of its reference: it reads and changes it."""
READING = ("get",)
"""The verb that a script needs on another object that it is shown."""
MAKING = ("create", "update", "delete")
"""The verbs that a script needs on companion objects."""


class Nobody:
    """No account has any right."""

    async def may(self, right: Right) -> bool:
        """Answer no about every right."""
        return False


class Accounts:
    """Asks before a namespace's script sees or writes an object."""

    def __init__(self, objects: GatewayObjects, rights: AccountRights) -> None:
        self._objects = objects
        self._rights = rights

    async def may_lead(
        self, target: Target, shown: Iterable[Reference], namespace: str
    ) -> Refusal | None:
        """Why its scripts must not change the object, or read the objects `shown`; None if they may."""
        for own in _own_scripts(target):
            needed = [(LEADING, target.reference), *((READING, other) for other in shown)]
            for verbs, about in needed:
                if refused := await self._refused(own, verbs, about, namespace):
                    return refused
        return None

    async def may_make(
        self, target: Target, objects: Iterable[Tree], namespace: str
    ) -> Refusal | None:
        """Why its scripts must not create these companion objects of the target; None if they may."""
        kinds = {(str(item["apiVersion"]), str(item["kind"])) for item in objects}
        for own in _own_scripts(target):
            for api_version, kind in sorted(kinds):
                made = msgspec.structs.replace(
                    target.reference, api_version=api_version, kind=kind, name=""
                )
                if refused := await self._refused(own, MAKING, made, namespace):
                    return refused
        return None

    async def _refused(
        self, own: OwnScript, verbs: tuple[str, ...], about: Reference, namespace: str
    ) -> Refusal | None:
        resource = await self._objects.resource(about)
        if resource is None:
            return failed_writes.kind_not_served(about, f"{about}")
        rights = [
            Right(
                verb,
                resource.group,
                resource.plural,
                "",
                namespace if resource.namespaced else "",
                about.name,
                f"{own.account_key}",
            )
            for verb in verbs
        ]
        missing = [right for right in rights if not await self._rights.may(right)]
        return failed_writes.account_forbidden(own, missing, about) if missing else None


def _own_scripts(target: Target) -> Iterator[OwnScript]:
    seen: set[tuple[str, str]] = set()
    for reference in target.references:
        own = reference.own_script
        if own is not None and own.account_key not in seen:
            seen.add(own.account_key)
            yield own
