"""The verbs that the controller uses, as one Protocol, and how a test reads their answers."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import msgspec

from controller.kube.client import Propagation
from controller.kube.resources import Resource

Object = dict[str, Any]


class Port(Protocol):
    """The common methods of `KubeClient` and `MemoryApi`."""

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes: ...

    def list_pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
    ) -> AsyncGenerator[bytes, None]: ...

    def watch(
        self,
        resource: Resource,
        namespace: str | None,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]: ...

    async def create(
        self, resource: Resource, namespace: str, body: bytes, *, dry_run: bool = False
    ) -> bytes: ...

    async def replace(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: bytes,
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> bytes: ...

    async def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, object],
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> bytes: ...

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: Sequence[Mapping[str, object]],
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> bytes: ...

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
    ) -> bytes: ...

    async def discover(self, group_version: str) -> tuple[Resource, ...]: ...

    async def versions(self, group: str) -> tuple[str, ...]: ...


def read(answer: bytes) -> Object:
    """Decode an answer."""
    found: Object = msgspec.json.decode(answer)
    return found


def body(**fields: Any) -> bytes:
    """Encode a request."""
    return msgspec.json.encode(fields)


def config_map(name: str, data: Mapping[str, str] | None = None, **metadata: Any) -> bytes:
    """Give a ConfigMap as a client sends it."""
    return body(
        apiVersion="v1",
        kind="ConfigMap",
        metadata={"name": name, **metadata},
        data=dict(data or {}),
    )


def deployment(name: str, replicas: int = 0) -> bytes:
    """Give a Deployment as a client sends it; of no replicas, so that nothing else happens to it."""
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "shop:1"}]},
    }
    spec = {
        "replicas": replicas,
        "paused": True,
        "selector": {"matchLabels": labels},
        "template": template,
    }
    return body(apiVersion="apps/v1", kind="Deployment", metadata={"name": name}, spec=spec)
