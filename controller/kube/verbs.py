"""The verbs of the API server, one Protocol each, of which a room makes the port that it needs.

Invariant: `KubeClient` and the API server in memory have each of them, in these words. A port that needs an option
which is not named here writes that verb itself. Nobody asks for all of them: who only reads takes `Gets`.
"""

from collections.abc import AsyncIterator
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


class Deletes(Protocol):
    """DELETE; raises Conflict unless `uid`, where given, is the object's."""

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        propagation: Propagation = "Background",
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
