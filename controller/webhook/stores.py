"""The places of certificates and webhook configurations: the API server, or a folder outside a cluster.

Invariant: values of Secrets are never logged; a write carries the version that was read, so two replicas share one
authority instead of overwriting each other's.
"""

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path

import msgspec

from controller.api.jsontree import JsonObject
from controller.certificates.directory import read_files, write_files
from controller.certificates.secret import SecretSnapshot
from controller.errors import NotFound
from controller.kube.client import KubeClient
from controller.kube.objects import Secret
from controller.kube.resources import CRDS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

_KINDS = {resource.kind: resource for resource in (CRDS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)}


class KubeSecrets:
    """Secrets of one namespace."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self._api = client.api
        self._namespace = namespace

    async def read(self, name: str) -> SecretSnapshot | None:
        """The Secret, or None."""
        try:
            secret = (await self._find(name)).record
        except NotFound:
            return None
        data = {key: base64.b64decode(value) for key, value in (secret.data or {}).items()}
        return SecretSnapshot(data, secret.metadata.resource_version)

    async def create(self, name: str, data: Mapping[str, bytes]) -> None:
        """Make it; AlreadyExists when another replica was first."""
        metadata = {"name": name, "namespace": self._namespace}
        await Secret({"metadata": metadata, "data": _encoded(data)}, api=self._api).create()

    async def replace(self, name: str, data: Mapping[str, bytes], resource_version: str) -> None:
        """Replace its data; Conflict when it changed since it was read.

        Its type and its metadata stay: they belong to the author of the Secret, and an API server refuses another type.
        """
        present = await self._find(name)
        present.raw["data"] = _encoded(data)
        present.metadata["resourceVersion"] = resource_version
        await present.replace()

    async def _find(self, name: str) -> Secret:
        return await Secret.get(name, namespace=self._namespace, api=self._api)


def _encoded(data: Mapping[str, bytes]) -> dict[str, str]:
    return {key: base64.b64encode(value).decode() for key, value in data.items()}


class FolderSecrets:
    """Secrets as files of a folder, for a controller outside the cluster."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def read(self, name: str) -> SecretSnapshot | None:
        """The files, or None when there are none yet."""
        files = await asyncio.to_thread(read_files, self._folder / name)
        return SecretSnapshot(files, "") if files else None

    async def create(self, name: str, data: Mapping[str, bytes]) -> None:
        """Write the files."""
        await asyncio.to_thread(write_files, self._folder / name, data)

    async def replace(self, name: str, data: Mapping[str, bytes], resource_version: str) -> None:
        """Write the files, and delete all other files; a folder has one writer."""
        await self.create(name, data)
        present = await asyncio.to_thread(read_files, self._folder / name)
        for gone in present.keys() - data.keys():
            await asyncio.to_thread((self._folder / name / gone).unlink)


class KubeConfigurations:
    """Webhook configurations and the CRD with a conversion webhook."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def read(self, kind: str, name: str) -> JsonObject:
        """The raw object; NotFound when it was not installed."""
        raw = await self._client.get(_KINDS[kind], "", name)
        return msgspec.json.decode(raw, type=dict[str, object])

    async def replace(self, kind: str, name: str, obj: JsonObject) -> None:
        """Write it; Conflict when it changed since it was read."""
        await self._client.replace(_KINDS[kind], "", name, msgspec.json.encode(obj))
