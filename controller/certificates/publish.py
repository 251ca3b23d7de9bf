"""Publishes our authorities and our user name: `caBundle` in webhook configurations and CRDs, and match conditions.

Invariant: of an entry, only the client configuration, the match condition for our own account and our namespace in the
namespace selector are written; all else stays as installed. An entry whose path this version does not serve is not
changed: another version added it, and its replicas update it. The original's annotation `template` is removed, because
the original would restore its own entries from it.
"""

import base64
import logging
from collections.abc import Collection, Sequence
from datetime import datetime
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
from controller.certificates.identity import OVERLAP, Identity, passing
from controller.errors import NotFound

log = logging.getLogger(__name__)

MUTATING, VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
CRD = "CustomResourceDefinition"

PUBLISHED: tuple[tuple[str, str], ...] = (
    (CRD, f"rollouts.{GROUP}"),
    (MUTATING, MUTATING_CONFIGURATION),
    (VALIDATING, VALIDATING_CONFIGURATION),
)
"""Kind and name of every object that carries the authority; the CRD first, because reading Rollouts needs it."""

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""Label that every namespace has its name in."""
_TEMPLATE = "template"
_PORT = 443


class Address(msgspec.Struct, frozen=True):
    """The address at which the API server reaches us: a Service, or (outside of the cluster) a URL without path."""

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
        """Names that the serving certificate must be valid for; the first is its subject."""
        own = self._own_name()
        return tuple(n for n in (own, f"{own}.cluster.local", "localhost", self._host()) if n)

    def called(self) -> str:
        """The one of these names that API servers call."""
        return self._host() or self._own_name()

    def _own_name(self) -> str:
        return f"{self.service}.{self.namespace}.svc"

    def _host(self) -> str:
        return self.url.partition("://")[2].partition("/")[0].rsplit(":", 1)[0].strip("[]")


class ConfigurationStore(Protocol):
    """The cluster-scoped objects of `PUBLISHED`."""

    async def read(self, kind: str, name: str) -> JsonObject:
        """The raw object; raises NotFound."""
        ...

    async def replace(self, kind: str, name: str, obj: JsonObject) -> None:
        """Write it, with the resource version it was read with; raises Conflict."""
        ...


class Wanted(msgspec.Struct, frozen=True):
    """The published data: our address, the trusted authority, the served paths, our user name.

    `alone`: the accounts that were used before this one are let pass no longer.
    """

    address: Address
    trusted: bytes
    served: frozenset[str]
    user: str
    alone: bool = False


def configured(obj: JsonObject, wanted: Wanted) -> JsonObject:
    """A webhook configuration or CRD as it has to be. Entries without a known path are left alone."""
    address, trusted = wanted.address, wanted.trusted
    if text(obj, "kind") == CRD:
        return _configured_crd(obj, address, trusted)
    entries: list[object] = []
    for entry in items(obj, "webhooks"):
        path = _path(child(entry, "clientConfig"))
        if path in wanted.served:
            mine = _without_own_namespace(child(entry), address.namespace)
            ours = {**mine, "clientConfig": address.client(path, trusted)}
            entries.append(passing(ours, wanted.user, alone=wanted.alone))
        else:
            entries.append(entry)
    clean = changed(obj, ("metadata", "annotations", _TEMPLATE), None)
    return {**clean, "webhooks": entries}


def _without_own_namespace(entry: JsonObject, namespace: str) -> JsonObject:
    """The entry with our own namespace excluded, in place of the usual one in the manifests."""
    selector = child(entry, "namespaceSelector")
    if not selector:
        return entry
    expressions: list[object] = []
    for expression in map(child, items(selector, "matchExpressions")):
        if expression.get("key") == NAMESPACE_NAME and expression.get("operator") == "NotIn":
            named = [
                namespace if one == DEFAULT_NAMESPACE else one
                for one in items(expression, "values")
            ]
            expression = {**expression, "values": named}
        expressions.append(expression)
    return {**entry, "namespaceSelector": {**selector, "matchExpressions": expressions}}


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
        self,
        store: ConfigurationStore,
        address: Address,
        served: Collection[str],
        identity: Identity,
    ) -> None:
        """`served` are the paths that the webhook server answers."""
        self._identity = identity
        self._since: datetime | None = None
        self._store = store
        self.written = 0
        """The number of writes so far."""
        self._address = address
        self._served = frozenset(served)

    async def publish(self, trusted: bytes, now: datetime) -> tuple[str, ...]:
        """Write `trusted` and our user name into all configurations; returns the names of the missing ones."""
        user = await self._identity.known()
        self._since = self._since or now
        alone = now - self._since >= OVERLAP
        wanted = Wanted(self._address, trusted, self._served, user, alone)
        missing: list[str] = []
        for kind, name in PUBLISHED:
            try:
                obj = await self._store.read(kind, name)
            except NotFound:
                missing.append(f"{kind} {name}")
                continue
            after = configured({"kind": kind, **obj}, wanted)
            if not same(after, {"kind": kind, **obj}):
                await self._replace(kind, name, after)
        return tuple(missing)

    async def let_pass(self) -> None:
        """Restore our user name if somebody removed it; nothing else is changed, so that two writers do not fight."""
        user = await self._identity.known()
        for kind, name in PUBLISHED:
            if kind == CRD:
                continue
            try:
                obj = await self._store.read(kind, name)
            except NotFound:
                continue
            after = {
                **obj,
                "webhooks": [self._passing(one, user) for one in items(obj, "webhooks")],
            }
            if not same(after, obj):
                await self._replace(kind, name, after)

    async def _replace(self, kind: str, name: str, obj: JsonObject) -> None:
        """The log shows how often: somebody else may write the same object again and again."""
        await self._store.replace(kind, name, obj)
        self.written += 1
        log.info("published", extra={"object": f"{kind} {name}"})

    def _passing(self, entry: object, user: str) -> object:
        ours = _path(child(entry, "clientConfig")) in self._served
        return passing(child(entry), user, alone=False) if ours else entry
