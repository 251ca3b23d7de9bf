"""Gateway objects for effects: read from the caches that watch them, written to the server.

Why: a kind is looked up once for the process and an object in use is watched anyway, so a write costs one
request. A stale read does no harm: the write carries its resource version and comes back as a conflict.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol

from controller.api import names
from controller.api.meta import Key
from controller.domain.availability import Unavailable
from controller.kube.kind_watch import Kind, RawObject, with_its_kind
from controller.kube.resources import Resource
from controller.kube.served import Discovery, served
from controller.kube.verbs import Gets, JsonPatches, Rehearses
from controller.kube.watch import read_page


class Lists(Protocol):
    """The one verb that finding objects by label needs."""

    def list_pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str = "",
    ) -> AsyncGenerator[bytes, None]: ...


class Verbs(Lists, Discovery, Gets, Rehearses, JsonPatches, Protocol):
    """The methods of the API client that are used here."""

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str | None = None
    ) -> bytes: ...


class KnownKinds(Protocol):
    """Kinds that are watched, and their objects."""

    @property
    def epoch(self) -> int: ...

    def resource(self, kind: Kind) -> Resource | None: ...

    def find(self, kind: Kind, key: Key) -> RawObject | Unavailable | None: ...

    def made_for(
        self, kind: Kind, namespace: str, rollout_uid: str
    ) -> tuple[RawObject, ...] | Unavailable: ...


async def labelled(
    client: Lists, resource: Resource, namespace: str, rollout_uid: str
) -> tuple[bytes, ...]:
    """Objects with the label of a Rollout, from the server."""
    found: list[bytes] = []
    selector = f"{names.ROLLOUT_UID}={rollout_uid}"
    async for page in client.list_pages(resource, namespace, selector):
        found += [with_its_kind(bytes(item), resource) for item in read_page(page).items or ()]
    return tuple(found)


class GatewayReads:
    """Reads from the process' caches, and writes."""

    def __init__(self, client: Verbs, kinds: KnownKinds) -> None:
        self._client = client
        self._kinds = kinds
        self._served: dict[Kind, Resource] = {}
        self._epoch = kinds.epoch

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        """The object as the cache has it; from the server while the cache is not to be relied on."""
        kind = (resource.api_version, resource.kind)
        found = self._kinds.find(kind, Key(namespace, name))
        if isinstance(found, RawObject):
            return bytes(found.raw)
        return await self._client.get(resource, namespace, name)

    async def replace(
        self, resource: Resource, namespace: str, name: str, body: bytes, *, dry_run: bool = False
    ) -> bytes:
        """Replace the object (PUT)."""
        return await self._client.replace(resource, namespace, name, body, dry_run=dry_run)

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: Sequence[Mapping[str, object]],
    ) -> bytes:
        """JSON patch; Conflict when a test in it does not hold."""
        return await self._client.json_patch(resource, namespace, name, operations)

    async def create(
        self, resource: Resource, namespace: str, body: bytes, *, dry_run: bool = False
    ) -> bytes:
        """Create the object (POST)."""
        return await self._client.create(resource, namespace, body, dry_run=dry_run)

    async def delete(self, resource: Resource, namespace: str, name: str, uid: str) -> None:
        """DELETE of the object with this UID."""
        await self._client.delete(resource, namespace, name, uid=uid)

    async def made_for(
        self, kind: Kind, resource: Resource, namespace: str, rollout_uid: str
    ) -> tuple[bytes, ...]:
        """Objects of a kind that were made for a Rollout, as the cache has them; else by their label, as they are."""
        found = self._kinds.made_for(kind, namespace, rollout_uid)
        if isinstance(found, tuple):
            return tuple(bytes(item.raw) for item in found)
        return await labelled(self._client, resource, namespace, rollout_uid)

    async def first_page(self, resource: Resource, namespace: str) -> tuple[bytes, ...]:
        """The first objects of a namespace, as the server has them."""
        async for page in self._client.list_pages(resource, namespace):
            return tuple(map(bytes, read_page(page).items or ()))
        return ()

    async def served(self, api_version: str, kind: str) -> Resource | None:
        """The served resource of the kind; an answer is kept until the served kinds change."""
        wanted = (api_version, kind)
        if self._epoch != self._kinds.epoch:
            self._served.clear()
            self._epoch = self._kinds.epoch
        if (watched := self._kinds.resource(wanted)) is not None:
            return watched
        if wanted not in self._served:
            found = await served(self._client, api_version, kind)
            if found is None:
                return None
            self._served[wanted] = found
        return self._served[wanted]
