"""Gateway objects of a simulated release: the real effect's reads and writes, on the API server in memory.

Why: what a release would write into a gateway object is found out by the real effect and the real worker; only the
server is missing. Invariant: every kind is served and lives in namespaces (whether it does in a cluster is not known
here); nothing is defaulted, so an object that is given back can be compared byte for byte.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from controller.api.jsontree import JsonObject
from controller.api.meta import Key
from controller.domain.traffic.tree import Tree, decode_tree
from controller.effects.gateways.kube_objects import KubeGatewayObjects
from controller.kube.gateway_reads import labelled
from controller.kube.resources import Resource
from controller.simulation.api_server.server import MemoryApi

Place = tuple[str, str, str]
"""Group, kind and name."""


class GatewayStore(KubeGatewayObjects):
    """The gateway objects of one namespace."""

    def __init__(self, objects: tuple[Tree, ...], namespace: str, now: datetime) -> None:
        self._api = MemoryApi(lambda: now)
        super().__init__(_Verbs(self._api), _NoCaches())
        for item in objects:
            self._seed(item, namespace)

    @property
    def objects(self) -> dict[Place, Tree]:
        """All there are, as they are now."""
        return {
            (group, str(found.get("kind")), key.name): decode_tree(msgspec.json.encode(found))
            for (group, _), key, found in self._api.storage.everything()
        }

    def _seed(self, item: Tree, namespace: str) -> None:
        resource = _served(str(item.get("apiVersion", "")), str(item.get("kind")))
        metadata = item.get("metadata")
        fields = metadata if isinstance(metadata, dict) else {}
        name = str(fields.get("name"))
        stored: JsonObject = {
            **item,
            "metadata": {"uid": f"given-{resource.name}-{name}", **fields},
        }
        key = Key(namespace, name)
        self._api.storage.put((resource.group, resource.plural), key, stored)


class _Verbs:
    """What the effect needs of an API client."""

    def __init__(self, api: MemoryApi) -> None:
        self._api = api

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        return await self._api.get(resource, namespace, name)

    async def replace(self, resource: Resource, namespace: str, name: str, body: bytes) -> bytes:
        return await self._api.replace(resource, namespace, name, body)

    async def create(self, resource: Resource, namespace: str, body: bytes) -> bytes:
        return await self._api.create(resource, namespace, body)

    async def delete(self, resource: Resource, namespace: str, name: str, uid: str) -> None:
        await self._api.delete(resource, namespace, name, uid=uid)

    async def made_for(
        self, kind: tuple[str, str], resource: Resource, namespace: str, rollout_uid: str
    ) -> tuple[bytes, ...]:
        return await labelled(self._api, resource, namespace, rollout_uid)

    async def served(self, api_version: str, kind: str) -> Resource | None:
        return _served(api_version, kind)

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: Sequence[Mapping[str, object]],
    ) -> bytes:
        return await self._api.json_patch(resource, namespace, name, operations)


class _NoCaches:
    """There are no caches that a write would have to be seen by."""

    def wrote(self, resource_name: str, key: Key, resource_version: str) -> None:
        """Nothing to remember."""


def _served(api_version: str, kind: str) -> Resource:
    """Every kind is served; how its plural is spelled does not matter to anybody here."""
    group, _, version = api_version.rpartition("/")
    return Resource(group, version, kind.lower(), kind)
