"""Writes on behalf of one Rollout, remembered until the caches show them.

Invariant: every write of an effect goes through here, so that no decision is made on a cache that does not yet show
what we wrote; an object that is already as wanted (404 on delete, conflict of names on create) is told from a failure.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from controller.api.meta import Key, ObjectMeta
from controller.api.names import IN_PROGRESSING
from controller.effects.ownership import hand_back, is_applied
from controller.errors import AlreadyExists, NotFound
from controller.kube.client import Propagation
from controller.kube.resources import Resource


class KubeWrites(Protocol):
    """The writing verbs of the API, in bytes."""

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes: ...

    async def create(self, resource: Resource, namespace: str, body: bytes) -> bytes: ...

    async def merge_patch(
        self, resource: Resource, namespace: str, name: str, patch: Mapping[str, object]
    ) -> bytes: ...

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: Sequence[Mapping[str, object]],
        subresource: str = "",
    ) -> bytes: ...

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        propagation: Propagation = "Background",
    ) -> bytes: ...


class Ledger(Protocol):
    """What was written and not seen yet."""

    def wrote(self, resource_name: str, key: Key, resource_version: str) -> None: ...

    def deleted(self, resource_name: str, key: Key, uid: str) -> None: ...


class _Answer(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    kind: str = ""


class Writes:
    """The writes of one pass."""

    def __init__(self, kube: KubeWrites, ledger: Ledger) -> None:
        self._kube = kube
        self._ledger = ledger

    async def read(self, resource: Resource, key: Key) -> bytes:
        """One object from the server; NotFound when there is none."""
        return await self._kube.get(resource, key.namespace, key.name)

    async def create(self, resource: Resource, key: Key, body: bytes) -> bool:
        """Make an object; False when one of that name exists."""
        try:
            answer = await self._kube.create(resource, key.namespace, body)
        except AlreadyExists:
            return False
        self._remember(resource, answer)
        return True

    async def merge(self, resource: Resource, key: Key, patch: Mapping[str, object]) -> str:
        """Merge patch; returns the new resource version."""
        answer = await self._kube.merge_patch(resource, key.namespace, key.name, patch)
        return self._remember(resource, answer)

    async def merge_and_disown(
        self,
        resource: Resource,
        key: Key,
        patch: Mapping[str, object],
        *,
        if_applied: bool = False,
    ) -> None:
        """Merge patch, then give the fields back; with `if_applied` only where others apply server-side."""
        answer = await self._kube.merge_patch(resource, key.namespace, key.name, patch)
        self._remember(resource, answer)
        if if_applied and not is_applied(answer):
            return
        await hand_back(
            answer,
            lambda disown: self.patch(resource, key, disown),
            lambda: self.read(resource, key),
        )

    async def patch(
        self,
        resource: Resource,
        key: Key,
        operations: Sequence[Mapping[str, object]],
        subresource: str = "",
    ) -> str:
        """JSON patch; Conflict when a test in it does not hold. Returns the new resource version."""
        answer = await self._kube.json_patch(
            resource, key.namespace, key.name, operations, subresource
        )
        return self._remember(resource, answer)

    async def patch_and_disown(
        self, resource: Resource, key: Key, operations: Sequence[Mapping[str, object]]
    ) -> None:
        """JSON patch, then give the fields back to whoever owned them."""
        answer = await self._kube.json_patch(resource, key.namespace, key.name, operations)
        self._remember(resource, answer)
        await hand_back(
            answer,
            lambda disown: self.patch(resource, key, disown),
            lambda: self.read(resource, key),
        )

    async def release(
        self,
        resource: Resource,
        key: Key,
        operations: Sequence[Mapping[str, object]],
        annotations: Sequence[str],
        labels: Sequence[str],
    ) -> None:
        """JSON patch that gives a workload back, marks taken off; with the mark of the release the fields go too."""
        marks = [("annotations", name) for name in annotations]
        marks += [("labels", name) for name in labels]
        removed = [{"op": "remove", "path": pointer("metadata", *mark)} for mark in marks]
        if IN_PROGRESSING in annotations:
            await self.patch_and_disown(resource, key, [*operations, *removed])
        else:
            await self.patch(resource, key, [*operations, *removed])

    async def delete(
        self, resource: Resource, key: Key, uid: str, propagation: Propagation = "Background"
    ) -> None:
        """Delete that very object; one that is gone is as good as deleted."""
        try:
            answer = await self._kube.delete(
                resource, key.namespace, key.name, uid=uid, propagation=propagation
            )
        except NotFound:
            return
        said = msgspec.json.decode(answer, type=_Answer)
        if said.kind == "Status":
            self._ledger.deleted(resource.name, key, uid)
        elif said.metadata.deleting and said.metadata.finalizers:
            # It stays for a while, marked: a pass that does not see the mark would delete it once more.
            self._ledger.wrote(resource.name, key, said.metadata.resource_version)

    def _remember(self, resource: Resource, answer: bytes) -> str:
        meta = msgspec.json.decode(answer, type=_Answer).metadata
        self._ledger.wrote(resource.name, meta.key, meta.resource_version)
        return meta.resource_version


Operation = dict[str, object]
"""One operation of a JSON patch."""


def generation_is(generation: int) -> Operation:
    """The patch applies only to the spec that was looked at."""
    return {"op": "test", "path": "/metadata/generation", "value": generation}


def pointer(*parts: str) -> str:
    """A JSON pointer to a path whose parts may hold slashes."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
