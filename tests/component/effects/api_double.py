"""The API server in memory as effects meet it: seeded by a test, which also reads the written objects."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from controller.api.meta import Key
from controller.kube.client import Propagation
from controller.kube.resources import Resource
from controller.simulation.api_server.server import MemoryApi

Object = dict[str, Any]
NAMESPACE = "shop"


class ApiDouble(MemoryApi):
    """`writes` are the accepted writes, as verb and name; `undoes_patches`: a policy of somebody else does."""

    def __init__(self) -> None:
        super().__init__(lambda: datetime(2026, 1, 1, tzinfo=UTC))
        self.writes: list[str] = []
        self.undoes_patches = False

    def on_json_patch(self, subresource: str) -> None:
        """Called before each JSON patch: a double counts it here, or raises the server's refusal."""

    def put(self, resource: Resource, body: Object) -> Object:
        """An object as somebody else wrote it."""
        stored: Object = msgspec.json.decode(msgspec.json.encode(body))
        meta = stored.setdefault("metadata", {})
        meta.setdefault("namespace", NAMESPACE)
        meta.setdefault("uid", f"uid-{self.storage.version}")
        key = Key(meta["namespace"], meta["name"])
        return self.storage.put((resource.group, resource.plural), key, stored)

    def one(self, resource: Resource, name: str) -> Object:
        """The present object itself, not a copy, so that a test may change it in place."""
        kind = (resource.group, resource.plural)
        return next(found for key, found in self.storage.all(kind) if key.name == name)

    async def create(
        self, resource: Resource, namespace: str, body: bytes, *, dry_run: bool = False
    ) -> bytes:
        answer = await super().create(resource, namespace, body, dry_run=dry_run)
        self.writes.append(f"create {msgspec.json.decode(body)['metadata']['name']}")
        return answer

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: Sequence[Mapping[str, object]],
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> bytes:
        self.on_json_patch(subresource)
        if self.undoes_patches:
            return await self.get(resource, namespace, name)
        answer = await super().json_patch(
            resource, namespace, name, operations, subresource, dry_run=dry_run
        )
        self.writes.append(f"patch {name}")
        return answer

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation = "Background",
        dry_run: bool = False,
    ) -> bytes:
        answer = await super().delete(
            resource,
            namespace,
            name,
            uid=uid,
            resource_version=resource_version,
            propagation=propagation,
            dry_run=dry_run,
        )
        self.writes.append(f"delete {name}")
        return answer


class LedgerDouble:
    """Remembers nothing."""

    def wrote(self, resource_name: str, key: Key, resource_version: str) -> None:
        pass

    def deleted(self, resource_name: str, key: Key, uid: str) -> None:
        pass
