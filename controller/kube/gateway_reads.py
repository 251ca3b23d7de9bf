"""Gateway objects for effects: read from the caches that watch them, written to the server.

Why: a kind is looked up once for the process and an object in use is watched anyway, so a write costs one
request. A stale read cannot do harm: the write carries its resource version and comes back as a conflict.
"""

from collections.abc import Mapping, Sequence

from controller.api.meta import Key
from controller.errors import NotFound
from controller.kube.client import KubeClient
from controller.kube.dynamic import DynamicKinds, RawObject
from controller.kube.resources import Resource


class GatewayReads:
    """get, replace and discover, with what the process knows already."""

    def __init__(self, client: KubeClient, kinds: DynamicKinds) -> None:
        self._client = client
        self._kinds = kinds
        self._served: dict[str, tuple[Resource, ...]] = {}

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        """The object as the cache has it; from the server while the cache is not to be relied on."""
        kind = (resource.api_version, resource.kind)
        if self._kinds.known(kind):
            found = self._kinds.find(kind, Key(namespace, name))
            if isinstance(found, RawObject):
                return bytes(found.raw)
        return await self._client.get(resource, namespace, name)

    async def replace(self, resource: Resource, namespace: str, name: str, body: bytes) -> bytes:
        """PUT."""
        return await self._client.replace(resource, namespace, name, body)

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: Sequence[Mapping[str, object]],
    ) -> bytes:
        """JSON patch; Conflict when a test in it does not hold."""
        return await self._client.json_patch(resource, namespace, name, operations)

    async def discover(self, group_version: str) -> tuple[Resource, ...]:
        """Kinds of a group version; what was found is kept until a kind is found that it does not say."""
        known = self._served.get(group_version)
        if known is None or not self._kinds.resources_of(group_version) <= set(known):
            known = await self._client.discover(group_version)
            self._served[group_version] = known
        if not known:
            raise NotFound(f"{group_version} is not served", status=404, reason="NotFound")
        return known
