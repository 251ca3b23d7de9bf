"""Telling the API server whom to trust: `caBundle` in the webhook configurations and in the CRDs.

Invariant: only the client configuration of an entry is ours; the rest is what was installed. Entries whose path this
version does not serve are dropped (an older controller may have left them), and so is the older controller's annotation
`template`, from which it would put its own entries back.
"""

import base64
from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from controller.api.jsontree import JsonObject, changed, child, items, same, text
from controller.api.names import (
    DEFAULT_NAMESPACE,
    GROUP,
    MUTATING_CONFIGURATION,
    VALIDATING_CONFIGURATION,
    WEBHOOK_SERVICE,
)
from controller.errors import NotFound

MUTATING, VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
CRD = "CustomResourceDefinition"

PUBLISHED: tuple[tuple[str, str], ...] = (
    (CRD, f"rollouts.{GROUP}"),
    (MUTATING, MUTATING_CONFIGURATION),
    (VALIDATING, VALIDATING_CONFIGURATION),
)
"""Kind and name of every object that carries the authority; the CRD first, because reading Rollouts needs it."""

_TEMPLATE = "template"
_PORT = 443


class Address(msgspec.Struct, frozen=True):
    """Where the API server finds us: a Service, or (out of the cluster) a URL without path."""

    namespace: str = DEFAULT_NAMESPACE
    service: str = WEBHOOK_SERVICE
    url: str = ""

    def client(self, path: str, trusted: bytes) -> JsonObject:
        """The client configuration for one path."""
        bundle = base64.b64encode(trusted).decode()
        if self.url:
            return {"url": self.url.rstrip("/") + path, "caBundle": bundle}
        service = {
            "namespace": self.namespace,
            "name": self.service,
            "path": path,
            "port": _PORT,
        }
        return {"service": service, "caBundle": bundle}

    def names(self) -> Sequence[str]:
        """What the serving certificate must be valid for; the first is its subject."""
        host = self.url.partition("://")[2].partition("/")[0].rsplit(":", 1)[0].strip("[]")
        own = f"{self.service}.{self.namespace}.svc"
        return tuple(name for name in (own, f"{own}.cluster.local", "localhost", host) if name)


class ConfigurationStore(Protocol):
    """The cluster-scoped objects of `PUBLISHED`."""

    async def read(self, kind: str, name: str) -> JsonObject:
        """The raw object; raises NotFound."""
        ...

    async def replace(self, kind: str, name: str, obj: JsonObject) -> None:
        """Write it, with the resource version it was read with; raises Conflict."""
        ...


def configured(
    obj: JsonObject, address: Address, trusted: bytes, served: Collection[str]
) -> JsonObject:
    """A webhook configuration or CRD as it has to be. Entries without a known path are dropped."""
    if text(obj, "kind") == CRD:
        return _configured_crd(obj, address, trusted)
    entries: list[object] = []
    for entry in items(obj, "webhooks"):
        path = _path(child(entry, "clientConfig"))
        if path in served:
            entries.append({**child(entry), "clientConfig": address.client(path, trusted)})
    clean = changed(obj, ("metadata", "annotations", _TEMPLATE), None)
    return {**clean, "webhooks": entries}


def _configured_crd(obj: JsonObject, address: Address, trusted: bytes) -> JsonObject:
    if text(obj, "spec", "conversion", "strategy") != "Webhook":
        return obj
    webhook = ("spec", "conversion", "webhook")
    obj = changed(obj, (*webhook, "clientConfig"), address.client("/convert", trusted))
    return changed(obj, (*webhook, "conversionReviewVersions"), ["v1", "v1beta1"])


def _path(client: JsonObject) -> str:
    url = text(client, "url")
    if url:
        host_and_path = url.partition("://")[2]
        return "/" + host_and_path.partition("/")[2]
    return text(client, "service", "path")


class Publisher:
    """Writes the authority into every object that must carry it."""

    def __init__(
        self, store: ConfigurationStore, address: Address, served: Collection[str]
    ) -> None:
        """`served` are the paths that the webhook server answers."""
        self._store = store
        self._address = address
        self._served = frozenset(served)

    async def publish(self, trusted: bytes) -> tuple[str, ...]:
        """Make all of them carry `trusted`; answers the names of those that do not exist."""
        missing: list[str] = []
        for kind, name in PUBLISHED:
            try:
                obj = await self._store.read(kind, name)
            except NotFound:
                missing.append(f"{kind} {name}")
                continue
            wanted = configured({"kind": kind, **obj}, self._address, trusted, self._served)
            if not same(wanted, {"kind": kind, **obj}):
                await self._store.replace(kind, name, wanted)
        return tuple(missing)
