"""Writes on behalf of one Rollout, remembered until the caches show them.

Invariant: every write of an effect goes through here, so that no decision is made on a cache that does not yet show
our writes. An object that is already as wanted (404 on delete, conflict of names on create) is not a failure.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from controller.api.meta import Key, ObjectMeta
from controller.api.names import IN_PROGRESSING
from controller.effects.kept_answers import AnswersOf, KeptAnswers
from controller.effects.ownership import NO_MARKS, Marks, is_applied, removing_from, take_off
from controller.effects.patches import Operation, pointer
from controller.errors import AlreadyExists, Conflict, NotFound
from controller.kube.client import Propagation
from controller.kube.resources import Resource
from controller.kube.verbs import Deletes, Gets, Rehearses


class KubeWrites(Gets, Rehearses, Deletes, Protocol):
    """The writing verbs of the API, in bytes."""

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


class Ledger(Protocol):
    """The writes that the caches do not show yet."""

    def wrote(self, resource_name: str, key: Key, resource_version: str) -> None: ...

    def deleted(self, resource_name: str, key: Key, uid: str) -> None: ...


class _Answer(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    kind: str = ""


class Writes:
    """The writes of one pass."""

    def __init__(self, kube: KubeWrites, ledger: Ledger, answers: AnswersOf | None = None) -> None:
        self._kube = kube
        self._ledger = ledger
        self._answers = KeptAnswers().of(Key("", "")) if answers is None else answers

    async def read(self, resource: Resource, key: Key) -> bytes:
        """One object from the server; NotFound when there is none."""
        return await self._kube.get(resource, key.namespace, key.name)

    async def read_version(self, resource: Resource, key: Key, version: str) -> bytes:
        """The object in this version; without a request if a write of ours made the version."""
        known = self._answers.take(resource, key, version)
        return await self.read(resource, key) if known is None else known

    async def create(self, resource: Resource, key: Key, body: bytes) -> bool:
        """Make an object; False when one of that name exists."""
        try:
            answer = await self._kube.create(resource, key.namespace, body)
        except AlreadyExists:
            return False
        self._remember(resource, answer)
        return True

    async def rehearse(self, resource: Resource, namespace: str, body: bytes) -> None:
        """Ask whether an object could be made; nothing is written."""
        await self._kube.create(resource, namespace, body, dry_run=True)

    async def merge(self, resource: Resource, key: Key, patch: Mapping[str, object]) -> str:
        """Merge patch; returns the new resource version."""
        answer = await self._kube.merge_patch(resource, key.namespace, key.name, patch)
        return self._remember(resource, answer)

    async def merge_unowned(
        self, resource: Resource, key: Key, patch: Mapping[str, object]
    ) -> None:
        """Merge patch; if others apply server-side, our field manager does not keep the fields."""
        answer = await self._kube.merge_patch(resource, key.namespace, key.name, patch)
        version = self._remember(resource, answer)
        if is_applied(answer):
            await self._take_off(resource, key, answer)
        else:
            self._answers.keep(resource, key, version, answer)

    async def merge_back(
        self, resource: Resource, key: Key, patch: Mapping[str, object], marks: Marks
    ) -> None:
        """Merge patch with the owner's values; marks and entries of ours go with a second write."""
        answer = await self._kube.merge_patch(resource, key.namespace, key.name, patch)
        self._remember(resource, answer)
        await self._take_off(resource, key, answer, marks)

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

    async def give_back(
        self,
        resource: Resource,
        key: Key,
        values: Sequence[Operation],
        marks: Marks = NO_MARKS,
    ) -> None:
        """JSON patch with the owner's values; marks and entries of ours go with a second write."""
        answer = await self._kube.json_patch(resource, key.namespace, key.name, values)
        self._remember(resource, answer)
        await self._take_off(resource, key, answer, marks)

    async def release(
        self, resource: Resource, key: Key, values: Sequence[Operation], marks: Marks
    ) -> None:
        """Restore the owner's values of a workload and remove marks; with the release's mark, our fields are removed,
        too."""
        if IN_PROGRESSING in marks.annotations:
            await self.give_back(resource, key, values, marks)
            return
        paths = [pointer("metadata", "annotations", name) for name in marks.annotations]
        paths += [pointer("metadata", "labels", name) for name in marks.labels]
        await self.patch(
            resource, key, [*values, *({"op": "remove", "path": path} for path in paths)]
        )

    async def unmark(
        self, resource: Resource, key: Key, version: str, marks: Marks, entries: Sequence[int]
    ) -> bool:
        """Remove our marks and entries in one write; False if the object has another version by now."""
        try:
            await self.patch(resource, key, removing_from(version, marks, entries))
        except Conflict:
            return False
        return True

    async def _take_off(
        self,
        resource: Resource,
        key: Key,
        stored: bytes,
        marks: Marks = NO_MARKS,
    ) -> None:
        await take_off(
            stored,
            lambda operations: self.patch(resource, key, operations),
            lambda: self.read(resource, key),
            marks=marks,
        )

    async def delete(
        self, resource: Resource, key: Key, uid: str, propagation: Propagation = "Background"
    ) -> None:
        """Delete exactly this object; it is no error if the object is already gone."""
        try:
            answer = await self._kube.delete(
                resource, key.namespace, key.name, uid=uid, propagation=propagation
            )
        except NotFound:
            return
        decoded = msgspec.json.decode(answer, type=_Answer)
        if decoded.kind == "Status":
            self._ledger.deleted(resource.name, key, uid)
        elif decoded.metadata.deleting and decoded.metadata.finalizers:
            # It stays for a while, marked: a pass that does not see the mark would delete it once more.
            self._ledger.wrote(resource.name, key, decoded.metadata.resource_version)

    def _remember(self, resource: Resource, answer: bytes) -> str:
        meta = msgspec.json.decode(answer, type=_Answer).metadata
        self._ledger.wrote(resource.name, meta.key, meta.resource_version)
        return meta.resource_version
