"""Gateway objects through the API client, kinds by discovery.

Invariant: a kind is asked for by its full group and version, and what was found is kept (a served kind does not
change its plural or its scope); what was not found is asked for again. Every write is told to the ledger, so that no
pass decides on a cache that does not show it yet.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from controller.api.meta import Key, ObjectMeta
from controller.domain.decision import Reference
from controller.effects.gateways.contracts import Scope
from controller.effects.ownership import hand_back
from controller.errors import NotFound
from controller.kube.resources import Resource


class KubeObjects(Protocol):
    """What is needed of the API client."""

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes: ...

    async def replace(
        self, resource: Resource, namespace: str, name: str, body: bytes
    ) -> bytes: ...

    async def discover(self, group_version: str) -> tuple[Resource, ...]: ...

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: Sequence[Mapping[str, object]],
    ) -> bytes: ...


class WriteLedger(Protocol):
    """What was written and not seen yet."""

    def wrote(self, resource_name: str, key: Key, resource_version: str) -> None: ...


class _Stored(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class KubeGatewayObjects:
    """Reads and replaces gateway objects of any served kind."""

    def __init__(self, kube: KubeObjects, ledger: WriteLedger) -> None:
        self._kube = kube
        self._ledger = ledger
        self._served: dict[tuple[str, str], Resource] = {}

    async def resource(self, reference: Reference) -> Resource | None:
        """The reference's kind as it is served; None when it is not."""
        wanted = (reference.api_version, reference.kind)
        if wanted not in self._served:
            try:
                kinds = await self._kube.discover(reference.api_version)
            except NotFound:
                return None
            self._served |= {(reference.api_version, kind.kind): kind for kind in kinds}
        return self._served.get(wanted)

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

    async def replace(self, reference: Reference, namespace: str, body: bytes) -> bytes:
        """PUT; the object as stored."""
        resource = await self._existing(reference)
        stored = await self._kube.replace(resource, namespace, reference.name, body)
        metadata = msgspec.json.decode(stored, type=_Stored).metadata
        self._ledger.wrote(resource.name, metadata.key, metadata.resource_version)
        return stored

    async def disown(self, reference: Reference, namespace: str, stored: bytes) -> None:
        """Take our field manager off the object."""
        resource = await self._existing(reference)

        async def patch(operations: list[dict[str, object]]) -> None:
            answer = await self._kube.json_patch(resource, namespace, reference.name, operations)
            metadata = msgspec.json.decode(answer, type=_Stored).metadata
            self._ledger.wrote(resource.name, metadata.key, metadata.resource_version)

        await hand_back(stored, patch, lambda: self.read(reference, namespace))

    async def _existing(self, reference: Reference) -> Resource:
        resource = await self.resource(reference)
        if resource is None:
            raise NotFound(
                f"the server does not serve {reference.kind} in {reference.api_version}",
                status=404,
                reason="NotFound",
            )
        return resource
