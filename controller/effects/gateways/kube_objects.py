"""Gateway objects through the API client, kinds by discovery.

Invariant: a kind is looked up by its group and kind and addressed in a served version. Every write is recorded in the
ledger, so that no pass decides on a cache that does not show it yet; a deletion is not recorded, because it causes an
event.
"""

from contextlib import suppress
from typing import Protocol

import msgspec

from controller.api.meta import Key, ObjectMeta
from controller.domain.decision import Reference
from controller.domain.traffic.original.content import MARKS
from controller.effects.gateways.contracts import Scope
from controller.effects.ownership import Marks, take_off
from controller.errors import NotFound
from controller.kube.resources import Resource
from controller.kube.verbs import Gets, JsonPatches, Rehearses


class KubeObjects(Gets, Rehearses, JsonPatches, Protocol):
    """The methods of the API client that are used here."""

    async def delete(self, resource: Resource, namespace: str, name: str, uid: str) -> None: ...

    async def made_for(
        self, kind: tuple[str, str], resource: Resource, namespace: str, rollout_uid: str
    ) -> tuple[bytes, ...]: ...

    async def served(self, api_version: str, kind: str) -> Resource | None: ...


class WriteLedger(Protocol):
    """Writes that the caches do not show yet."""

    def wrote(self, resource_name: str, key: Key, resource_version: str) -> None: ...


class _Stored(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class KubeGatewayObjects:
    """Reads and replaces gateway objects of any served kind."""

    def __init__(self, kube: KubeObjects, ledger: WriteLedger) -> None:
        self._kube = kube
        self._ledger = ledger

    async def resource(self, reference: Reference) -> Resource | None:
        """The reference's kind as it is served; None when it is not served."""
        return await self._kube.served(reference.api_version, reference.kind)

    async def scope(self, reference: Reference) -> Scope | None:
        """Scope of the kind; None when it is not served."""
        resource = await self.resource(reference)
        if resource is None:
            return None
        return Scope.NAMESPACED if resource.namespaced else Scope.CLUSTER

    async def read(self, reference: Reference, namespace: str) -> bytes:
        """The object as it is now."""
        resource = await self._existing(reference)
        return await self._kube.get(resource, namespace, reference.name)

    async def replace(
        self, reference: Reference, namespace: str, body: bytes, *, dry_run: bool = False
    ) -> bytes:
        """PUT; the object as stored."""
        resource = await self._existing(reference)
        stored = await self._kube.replace(
            resource, namespace, reference.name, body, dry_run=dry_run
        )
        if not dry_run:
            self._record_write(resource, stored)
        return stored

    async def made_for(
        self, kind: Reference, namespace: str, rollout_uid: str
    ) -> tuple[bytes, ...]:
        """The companion objects of a Rollout, of one kind."""
        resource = await self.resource(kind)
        if resource is None:
            return ()
        wanted = (kind.api_version, kind.kind)
        return await self._kube.made_for(wanted, resource, namespace, rollout_uid)

    async def create(
        self, kind: Reference, namespace: str, body: bytes, *, dry_run: bool = False
    ) -> None:
        """POST."""
        resource = await self._existing(kind)
        stored = await self._kube.create(resource, namespace, body, dry_run=dry_run)
        if not dry_run:
            self._record_write(resource, stored)

    async def remove(self, kind: Reference, namespace: str, name: str, uid: str) -> None:
        """DELETE of this very object."""
        resource = await self._existing(kind)
        with suppress(NotFound):
            await self._kube.delete(resource, namespace, name, uid)

    async def take_marks_off(self, reference: Reference, namespace: str, stored: bytes) -> None:
        """Take our annotations and our field manager off the object."""
        resource = await self._existing(reference)

        async def patch(operations: list[dict[str, object]]) -> None:
            answer = await self._kube.json_patch(resource, namespace, reference.name, operations)
            self._record_write(resource, answer)

        await take_off(stored, patch, lambda: self.read(reference, namespace), marks=Marks(MARKS))

    def _record_write(self, resource: Resource, stored: bytes) -> None:
        metadata = msgspec.json.decode(stored, type=_Stored).metadata
        self._ledger.wrote(resource.name, metadata.key, metadata.resource_version)

    async def _existing(self, reference: Reference) -> Resource:
        resource = await self.resource(reference)
        if resource is None:
            raise NotFound(
                f"the server does not serve {reference.kind} in {reference.api_version}",
                status=404,
                reason="NotFound",
            )
        return resource
