"""The verbs of the API server, one Protocol each; each room builds the port that it needs from them.

Why it exists: the same signatures stood in many ports. Invariant: `KubeClient` and the API server in memory have each
verb with this signature. A port that needs another option writes that verb itself. A port must not ask for verbs that
its room does not use: a room that only reads takes `Gets`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from controller.kube.client import Propagation
from controller.kube.resources import Resource


class Gets(Protocol):
    """GET one object."""

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes: ...


class Creates(Protocol):
    """POST; raises AlreadyExists."""

    async def create(self, resource: Resource, namespace: str, body: bytes) -> bytes: ...


class Replaces(Protocol):
    """PUT; raises Conflict unless the body's resource version is the object's."""

    async def replace(
        self, resource: Resource, namespace: str, name: str, body: bytes
    ) -> bytes: ...


class Rehearses(Protocol):
    """POST and PUT that the API server checks without storing them, if `dry_run`."""

    async def create(
        self, resource: Resource, namespace: str, body: bytes, *, dry_run: bool = False
    ) -> bytes: ...

    async def replace(
        self, resource: Resource, namespace: str, name: str, body: bytes, *, dry_run: bool = False
    ) -> bytes: ...


class Deletes(Protocol):
    """DELETE; raises Conflict if a given `uid` is not the object's."""

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        propagation: Propagation = "Background",
    ) -> bytes: ...


class JsonPatches(Protocol):
    """JSON patch; raises Conflict if a `test` operation does not hold."""

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: Sequence[Mapping[str, object]],
    ) -> bytes: ...


class Watches(Protocol):
    """Lines from a resource version on."""

    def watch(
        self,
        resource: Resource,
        namespace: str | None,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]: ...
