"""An API server in memory, for effects: objects, versions, JSON patches with their tests, and missing rights."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from controller.api.meta import Key
from controller.errors import AlreadyExists, Conflict, Forbidden, NotFound
from controller.kube.client import Propagation
from controller.kube.resources import Resource

Object = dict[str, Any]


class ApiDouble:
    """What effects write to; `forbidden` holds (verb, plural), `writes` what was written, as verb and name."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Object] = {}
        self.forbidden: set[tuple[str, str]] = set()
        self.writes: list[str] = []
        self.version = 100

    def put(self, resource: Resource, body: Object) -> Object:
        """An object as somebody else wrote it."""
        self.version += 1
        stored: Object = msgspec.json.decode(msgspec.json.encode(body))
        meta = stored.setdefault("metadata", {})
        meta.setdefault("namespace", "shop")
        meta.setdefault("uid", f"uid-{self.version}")
        meta["resourceVersion"] = str(self.version)
        self.objects[resource.plural, meta["name"]] = stored
        return stored

    def one(self, resource: Resource, name: str) -> Object:
        """What there is now."""
        return self.objects[resource.plural, name]

    def _allowed(self, verb: str, resource: Resource) -> None:
        if (verb, resource.plural) in self.forbidden:
            raise Forbidden(f"cannot {verb} {resource.plural}", status=403)

    def _stored(self, verb: str, resource: Resource, body: Object) -> bytes:
        self.writes.append(f"{verb} {body['metadata']['name']}")
        return msgspec.json.encode(self.put(resource, body))

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        self._allowed("get", resource)
        if (resource.plural, name) not in self.objects:
            raise NotFound(f"{resource.plural} {name} not found", status=404)
        return msgspec.json.encode(self.one(resource, name))

    async def create(self, resource: Resource, namespace: str, body: bytes) -> bytes:
        self._allowed("create", resource)
        made: Object = msgspec.json.decode(body)
        if (resource.plural, made["metadata"]["name"]) in self.objects:
            raise AlreadyExists("exists", status=409)
        return self._stored("create", resource, made)

    async def merge_patch(
        self, resource: Resource, namespace: str, name: str, patch: Mapping[str, object]
    ) -> bytes:
        raise NotImplementedError

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: Sequence[Mapping[str, object]],
        subresource: str = "",
    ) -> bytes:
        self._allowed("patch", resource)
        if (resource.plural, name) not in self.objects:
            raise NotFound(f"{resource.plural} {name} not found", status=404)
        patched = copy.deepcopy(self.one(resource, name))
        for operation in operations:
            _apply(patched, operation)
        return self._stored("patch", resource, patched)

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        propagation: Propagation = "Background",
    ) -> bytes:
        found = self.objects.get((resource.plural, name))
        if found is None:
            raise NotFound(f"{name} not found", status=404)
        if found["metadata"]["uid"] != uid:
            raise Conflict("another uid", status=409)
        del self.objects[resource.plural, name]
        self.writes.append(f"delete {name}")
        return msgspec.json.encode({"kind": "Status"})


class LedgerDouble:
    """Remembers nothing."""

    def wrote(self, resource_name: str, key: Key, resource_version: str) -> None:
        pass

    def deleted(self, resource_name: str, key: Key, uid: str) -> None:
        pass


def _apply(tree: Any, operation: Mapping[str, object]) -> None:
    *way, last = [
        part.replace("~1", "/").replace("~0", "~") for part in str(operation["path"]).split("/")[1:]
    ]
    for part in way:
        tree = tree[int(part)] if isinstance(tree, list) else tree[part]
    if operation["op"] == "test":
        if tree.get(last) != operation["value"]:
            raise Conflict(f"testing {operation['path']}", status=409)
    elif operation["op"] == "remove":
        tree.pop(int(last) if isinstance(tree, list) else last)
    else:
        tree[last] = operation["value"]
