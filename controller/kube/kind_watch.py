"""One kind that a Rollout names at run time: looks it up, watches it in a served version, and looks it up again.

Invariant: a kind is looked up by its complete apiVersion and kind, never by one word. It is `NotServed` only if no
version of its group has it and no CRD that we may read declares it: objects of a CRD that serves no version for a
moment still exist. When the watched version is removed, the kind is looked up again, and its objects are listed in
another version. An object that is nested too deeply is known by its metadata, with its problem, and is never missing.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Protocol

import msgspec

from controller.api.depth import TOO_DEEP
from controller.api.meta import ObjectMeta
from controller.domain.availability import (
    Availability,
    Failing,
    Forbidden,
    Loading,
    NotServed,
    Unavailable,
)
from controller.domain.traffic.companions.companion import finding_keys
from controller.errors import Forbidden as ForbiddenByServer
from controller.errors import MoonshiftError, NotFound
from controller.kube.client import KubeClient
from controller.kube.nesting import outlined
from controller.kube.reflector import GOOD_WATCH_SECONDS, PROBE, Reflector, ReflectorMetrics
from controller.kube.resources import Resource
from controller.kube.served import served
from controller.kube.store import Store
from controller.runtime.backoff import Backoff

MAKER = "maker"
"""Index: UIDs of the Rollouts an object may have been made for."""
NAMESPACE = "namespace"
"""Index by namespace: a pass reads all autoscalers of one namespace without visiting those of the whole cluster."""
SOONEST = 0.2
"""Seconds until a kind is looked up again after its CRD changed."""
LATEST = 60.0
"""Seconds until a kind is looked up again while CRDs are watched: only an aggregated API comes without an event."""

Kind = tuple[str, str]
"""apiVersion and kind."""
Unfollow = Callable[[], None]


class RawObject(msgspec.Struct, frozen=True):
    """An object of any kind: its metadata, and all of it as bytes."""

    metadata: ObjectMeta
    raw: msgspec.Raw
    problem: str = ""
    """Why only its metadata could be read; `raw` is empty then."""


class _Head(msgspec.Struct, frozen=True):
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


def with_its_kind(raw: bytes, resource: Resource) -> bytes:
    """An item of a list in the form of a single read: in lists the server omits the kind of its built-in objects."""
    if msgspec.json.decode(raw, type=_Head).kind:
        return raw
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    return msgspec.json.encode(head)[:-1] + b"," + raw.strip()[1:]


class _RawReflector(Reflector[RawObject]):
    """A reflector that keeps the whole object, and the metadata of one that is nested too deeply."""

    def _view(self, raw: msgspec.Raw) -> RawObject:
        head = msgspec.json.decode(raw, type=_Head)
        whole = with_its_kind(bytes(raw), self.resource)
        return RawObject(metadata=head.metadata, raw=msgspec.Raw(whole))

    def _view_of_outline(self, raw: msgspec.Raw) -> RawObject:
        metadata = msgspec.json.decode(outlined(bytes(raw)), type=_Head).metadata
        self._name_unreadable(metadata.key, TOO_DEEP)
        return RawObject(metadata=metadata, raw=msgspec.Raw(), problem=TOO_DEEP)


class Declarations(Protocol):
    """The known CRDs."""

    @property
    def watching(self) -> bool:
        """CRDs are watched, so `poke` is called when one of the kind's group changes."""
        ...

    def ask(self) -> None:
        """Somebody waits for a kind: watch CRDs, if that is not done already."""
        ...

    async def declared(self, group: str, kind: str) -> str:
        """Name of the CRD that declares the kind; empty if none does, or where CRDs may not be read."""
        ...


class Surroundings(msgspec.Struct, frozen=True):
    """Settings of every watch."""

    client: KubeClient
    crds: Declarations
    namespace: str | None
    follow: Callable[[str, Store[RawObject]], Unfollow]
    changed: Callable[[Kind, ObjectMeta], None]
    random: Random
    metrics: ReflectorMetrics | None = None


class KindWatch:
    """Looks one kind up and keeps its objects, for as long as `run` runs."""

    def __init__(
        self, kind: Kind, surroundings: Surroundings, notify: Callable[[Kind], None]
    ) -> None:
        self.kind = kind
        self.resource: Resource | None = None
        """How the kind is addressed; None while it is not known to be served."""
        self._around = surroundings
        self._notify = notify
        self._reflector: Reflector[RawObject] | None = None
        self._missing: Unavailable = Loading(f"{kind[1]} is being looked up")
        self._poked = asyncio.Event()
        self._backoff = Backoff(SOONEST, LATEST, surroundings.random)

    @property
    def availability(self) -> Availability:
        """Whether the objects are known."""
        return self._reflector.availability if self._reflector is not None else self._missing

    @property
    def objects(self) -> Store[RawObject]:
        """The objects that can be read, in the version that is served. The kind must be `Synced`."""
        assert self._reflector is not None
        return self._reflector.store

    def poke(self) -> None:
        """A CRD of the kind's group changed: look now."""
        self._backoff.reset()
        self._poked.set()

    async def run(self) -> None:
        """Look up and watch, until cancelled."""
        while True:
            resource = await self._look_up()
            await self._watch(resource)
            await self._wait_before_retry(PROBE)

    async def _watch(self, resource: Resource) -> None:
        """Keep the objects until the server does not serve this version any more."""
        store: Store[RawObject] = Store(
            {
                MAKER: lambda item: finding_keys(item.metadata),
                NAMESPACE: lambda item: (item.metadata.namespace,),
            }
        )
        unfollow = self._around.follow(resource.name, store)
        store.subscribe(self._on_change)
        reflector = _RawReflector(
            self._around.client,
            resource,
            store,
            RawObject,
            namespace=self._around.namespace if resource.namespaced else None,
            notify=lambda: self._notify(self.kind),
            random=self._around.random,
            metrics=self._around.metrics,
        )
        self.resource, self._reflector = resource, reflector
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            missing = await reflector.follow()
            if loop.time() - started >= GOOD_WATCH_SECONDS:
                self._backoff.reset()
            self._missing = self._after(resource, missing, reflector.synced.is_set())
        finally:
            unfollow()
            self.resource = self._reflector = None
            if self._around.metrics:
                self._around.metrics.unwatched(resource.name)
        self._notify(self.kind)

    def _after(self, resource: Resource, missing: NotFound, was_served: bool) -> Unavailable:
        """The availability while the kind is looked up again; a kind that was never listed counts as failing."""
        if was_served:
            return Loading(f"{resource.name} is being looked up again")
        return Failing(f"{resource.name} is not served as {resource.api_version}: {missing}")

    def _on_change(self, old: RawObject | None, new: RawObject | None) -> None:
        view = new if new is not None else old
        assert view is not None
        self._around.changed(self.kind, view.metadata)

    async def _look_up(self) -> Resource:
        """How the kind is addressed; returns when it is served."""
        while True:
            self._poked.clear()
            found = await self._find()
            if isinstance(found, Resource):
                return found
            self._set_missing(found)
            self._around.crds.ask()
            await self._wait_before_retry(LATEST if self._around.crds.watching else PROBE)

    async def _find(self) -> Resource | Unavailable:
        api_version, name = self.kind
        try:
            found = await served(self._around.client, api_version, name)
            if found is not None:
                return found
            group = api_version.rpartition("/")[0]
            crd = await self._around.crds.declared(group, name) if group else ""
        except ForbiddenByServer as failure:
            return Forbidden(f"{api_version}: {failure}")
        except MoonshiftError as failure:
            return Failing(f"{api_version}: {failure}")
        if crd:
            return Failing(f"{name} ({api_version}) is not served, though CRD {crd} declares it")
        return NotServed(f"{name} ({api_version}) is not served by this cluster: install its CRD")

    def _set_missing(self, missing: Unavailable) -> None:
        before, self._missing = self._missing, missing
        if before != missing:
            self._notify(self.kind)

    async def _wait_before_retry(self, longest: float) -> None:
        """Wait for a change of the group's CRDs, or until it is time to look again."""
        try:
            async with asyncio.timeout(min(self._backoff.next(), longest)):
                await self._poked.wait()
        except TimeoutError:
            return
