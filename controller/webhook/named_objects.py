"""Reads the objects that a Rollout names, for warnings about them.

Invariant: an object in a synced cache costs no request; an object that cannot be read is `Unknown`, never absent and
never an error. Live reads are counted, because a forged review makes us read: beyond a burst a cache answers, or there
is no warning. Only the fields that a warning needs are read, and nothing of an object is kept.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from controller.api.decoding import decoded
from controller.api.jsontree import JsonObject
from controller.api.meta import Key, ObjectMeta
from controller.api.networking import Service
from controller.api.trafficrouting import TrafficRouting
from controller.api.workload_kinds import KNOWN_WORKLOADS
from controller.api.workloads import Deployment
from controller.domain.admission.named import Named
from controller.domain.admission.other_routes import words_of_neighbours
from controller.domain.admission.surroundings import Absent, Exists, Seen, Template, Unknown
from controller.domain.availability import NotServed, Unavailable
from controller.domain.pods.marks import hold_on
from controller.errors import MoonshiftError, NotFound
from controller.kube.kind_watch import Kind, RawObject
from controller.kube.resources import DEPLOYMENTS, SERVICES, TRAFFIC_ROUTINGS, Resource
from controller.kube.store import Store
from controller.webhook.readers import Allowance


class Kinds(Protocol):
    """The kinds that are watched while a Rollout names them."""

    def find(self, kind: Kind, key: Key) -> RawObject | Unavailable | None:
        """The object; None if it does not exist; or why that is not known."""
        ...

    def every(self, kind: Kind, namespace: str) -> tuple[RawObject, ...] | Unavailable:
        """All objects of a namespace, or why they are not known."""
        ...


class Server(Protocol):
    """The API server."""

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        """Get one object from the API server."""
        ...

    async def first_page(self, resource: Resource, namespace: str) -> tuple[bytes, ...]:
        """The first objects of a namespace: one request."""
        ...

    async def served(self, api_version: str, kind: str) -> Resource | None:
        """How a kind is addressed; None if it is not served."""
        ...


class NamedCaches(msgspec.Struct, frozen=True):
    """The kinds watched from the start; `synced` says whether a cache is complete."""

    deployments: Store[Deployment]
    services: Store[Service]
    traffic_routings: Store[TrafficRouting]
    kinds: Kinds
    synced: Callable[[Resource], bool]


class _Labelled(msgspec.Struct, frozen=True):
    labels: dict[str, str] | None = None


class _Template(msgspec.Struct, frozen=True):
    metadata: _Labelled | None = None


class _Spec(msgspec.Struct, frozen=True):
    template: _Template = _Template()
    replicas: int | None = None
    min_ready_seconds: int | None = msgspec.field(default=None, name="minReadySeconds")


class _Workload(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _Spec = _Spec()


_FROM_THE_START = {
    ("apps", "Deployment"): DEPLOYMENTS,
    ("", "Service"): SERVICES,
    ("rollouts.kruise.io", "TrafficRouting"): TRAFFIC_ROUTINGS,
}


class Surroundings:
    """The objects that a Rollout names, from caches and from the API server."""

    def __init__(self, caches: NamedCaches, server: Server) -> None:
        self._caches = caches
        self._server = server
        self._live = Allowance()

    async def look(self, namespace: str, named: Sequence[Named]) -> Mapping[Named, Seen]:
        """Their state: from caches first."""
        found: dict[Named, Seen] = {}
        for one in named:
            cached = self._cached(namespace, one)
            found[one] = await self._read(namespace, one, cached) if cached is None else cached
        return found

    async def look_again(self, namespace: str, named: Sequence[Named]) -> Mapping[Named, Seen]:
        """Their state now, from the API server."""
        return {
            one: await self._read(namespace, one, self._cached(namespace, one)) for one in named
        }

    async def beside(
        self, namespace: str, named: Sequence[Named]
    ) -> Mapping[Named, tuple[JsonObject, ...]]:
        """The objects of a gateway object's kind that may matter beside it; empty if they cannot be read.

        Only these are decoded: a namespace may have thousands of routes.
        """
        read: dict[Kind, tuple[bytes | msgspec.Raw, ...]] = {}
        found: dict[Named, tuple[JsonObject, ...]] = {}
        for one in named:
            if not one.service:
                continue
            kind = (one.api_version, one.kind)
            if kind not in read:
                read[kind] = await self._of_kind(kind, namespace)
            words = words_of_neighbours(one)
            naming = (raw for raw in read[kind] if any(word in bytes(raw) for word in words))
            found[one] = tuple(tree for raw in naming if (tree := _tree(raw)) is not None)
        return found

    async def _of_kind(self, kind: Kind, namespace: str) -> tuple[bytes | msgspec.Raw, ...]:
        found = self._caches.kinds.every(kind, namespace)
        if isinstance(found, tuple):
            return tuple(item.raw for item in found)
        if isinstance(found, NotServed) or not self._live.take():
            return ()
        try:
            resource = await self._server.served(*kind)
            if resource is None or not resource.namespaced or not self._live.take():
                return ()
            return await self._server.first_page(resource, namespace)
        except MoonshiftError:
            return ()

    def _cached(self, namespace: str, one: Named) -> Seen | None:
        """The object in a synced cache; None if there is no such cache."""
        key = Key(namespace, one.name)
        resource = _FROM_THE_START.get((one.identity[0], one.kind))
        if resource is None:
            match self._caches.kinds.find((one.api_version, one.kind), key):
                case RawObject() as found:
                    return _seen(one, found.raw)
                case None:
                    return Absent()
                case NotServed():
                    return Unknown()
                case _:
                    return None
        if not self._caches.synced(resource):
            return None
        return self._from_the_start(resource, key)

    def _from_the_start(self, resource: Resource, key: Key) -> Seen:
        if resource is SERVICES:
            return self._caches.services.get(key) or Absent()
        if resource is DEPLOYMENTS:
            found = self._caches.deployments.get(key)
            return Absent() if found is None else _of_deployment(found)
        return Exists() if key in self._caches.traffic_routings else Absent()

    async def _read(self, namespace: str, one: Named, otherwise: Seen | None) -> Seen:
        """The object on the server; `otherwise` if the server cannot be asked."""
        unknown = otherwise or Unknown()
        try:
            resource = _FROM_THE_START.get((one.identity[0], one.kind))
            if resource is None and self._live.take():
                resource = await self._server.served(one.api_version, one.kind)
            if resource is None or not resource.namespaced or not self._live.take():
                return unknown
            return _seen(one, await self._server.get(resource, namespace, one.name))
        except NotFound:
            return Absent()
        except MoonshiftError:
            return unknown


def _tree(raw: bytes | msgspec.Raw) -> JsonObject | None:
    """The object; None if its author wrote something that cannot be read."""
    try:
        return decoded(raw, JsonObject)
    except msgspec.DecodeError:
        return None


def _seen(one: Named, raw: bytes | msgspec.Raw) -> Seen:
    """The part of an object that a warning needs; `Unknown` if its author wrote something that cannot be read."""
    try:
        return _read_as(one, raw)
    except msgspec.DecodeError:
        return Unknown()


def _read_as(one: Named, raw: bytes | msgspec.Raw) -> Seen:
    group, kind, _ = one.identity
    if (group, kind) == ("", "Service"):
        return decoded(raw, Service)
    if (group, kind) in KNOWN_WORKLOADS:
        workload = decoded(raw, _Workload)
        spec = workload.spec
        return _template(
            spec.template, spec.replicas, spec.min_ready_seconds or 0, hold_on(workload).rollout
        )
    return Exists()


def _of_deployment(found: Deployment) -> Seen:
    template = msgspec.json.decode(found.spec.template, type=_Template)
    return _template(
        template, found.spec.replicas, found.spec.min_ready_seconds, hold_on(found).rollout
    )


def _template(
    template: _Template, replicas: int | None, min_ready_seconds: int, held_for: str
) -> Seen:
    labels = template.metadata.labels if template.metadata is not None else None
    return Template(labels or {}, replicas, min_ready_seconds, held_for)
