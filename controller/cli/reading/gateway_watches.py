"""The objects of one Rollout whose kinds are found at run time, each watched by its name alone.

These are gateway objects, and a workload other than a Deployment.

Why not the controller's own cache of kinds: it watches whole kinds, and a person who looks at one VirtualService should
not load all of the namespace. Invariant: a kind is looked up by its complete apiVersion; an object that cannot
be read is `Unavailable` with the reason, never absent.
"""

from collections.abc import Iterable

import msgspec

from controller.api import names
from controller.api.meta import Key, ObjectMeta
from controller.api.podsets import PodSet
from controller.cli.failures import explain
from controller.cli.reading.source import Source, named
from controller.domain.availability import (
    Availability,
    Failing,
    Forbidden,
    Loading,
    NotServed,
    Synced,
    Unavailable,
)
from controller.domain.decision import Reference
from controller.domain.traffic.companions.companion import is_companion_for
from controller.errors import Forbidden as ForbiddenByServer
from controller.errors import MoonshiftError, NotFound
from controller.kube.client import KubeClient
from controller.kube.kind_watch import Kind, RawObject
from controller.kube.resources import Resource
from controller.kube.served import served
from controller.kube.store import Store


class _Meta(ObjectMeta, frozen=True, rename="camel"):
    managed_fields: tuple[msgspec.Raw, ...] = ()


class GatewayObject(msgspec.Struct, frozen=True, rename="camel"):
    """The view of a gateway object: its owner and its weights."""

    metadata: _Meta = _Meta()
    api_version: str = ""
    kind: str = ""
    spec: msgspec.Raw = msgspec.Raw(b"null")


class Gateways:
    """Look-ups of gateway objects, in the shape `World` asks for."""

    def __init__(self) -> None:
        self._sources: dict[tuple[Kind, Key], Source[GatewayObject]] = {}
        self._made: dict[Kind, Source[GatewayObject]] = {}
        self._problems: dict[tuple[Kind, Key], Unavailable] = {}
        self._workloads: dict[tuple[Kind, Key], Source[PodSet]] = {}

    @property
    def sources(self) -> tuple[Source[GatewayObject], ...]:
        """The kinds that can be watched."""
        return (*self._sources.values(), *self._made.values())

    async def load_workload(self, client: KubeClient, kind: Kind, key: Key) -> Source[PodSet]:
        """Look up the kind of a set of pods, and read the set."""
        try:
            resource = await look_up(client, kind)
            source = Source(
                resource,
                Store[PodSet](),
                PodSet,
                namespace=key.namespace,
                fields=named(key.name),
            )
            await source.load(client)
        except MoonshiftError as failure:
            self._problems[kind, key] = unavailable_because(failure)
            raise
        self._workloads[kind, key] = source
        return source

    async def load(
        self,
        client: KubeClient,
        namespace: str,
        references: tuple[Reference, ...],
        rollout_uid: str,
    ) -> None:
        """Look the kinds up and read the objects and the companion objects of the Rollout."""
        for reference in references:
            kind = (reference.api_version, reference.kind)
            at = (kind, Key(namespace, reference.name))
            try:
                resource = await look_up(client, kind)
                source = Source(
                    resource,
                    Store[GatewayObject](),
                    GatewayObject,
                    namespace=namespace,
                    fields=named(reference.name),
                )
                await source.load(client)
                if kind not in self._made:
                    made = Source(
                        resource,
                        Store[GatewayObject](),
                        GatewayObject,
                        namespace=namespace,
                        labels=f"{names.ROLLOUT_UID}={rollout_uid}",
                    )
                    await made.load(client)
                    self._made[kind] = made
            except MoonshiftError as failure:
                self._problems[at] = unavailable_because(failure)
            else:
                self._sources[at] = source

    def keep_watched(self, owner: Key, kinds: Iterable[Kind]) -> None:
        """Do nothing: `load` got all names."""

    def availability(self, kind: Kind) -> Availability:
        """Always synced: all kinds were looked up; `find` has the state of each object."""
        return Synced()

    def unavailable(self, kinds: Iterable[Resource]) -> Unavailable | None:
        """Objects that the person may not read are reported as a gap, and the rest is shown."""
        return None

    def resource(self, kind: Kind) -> Resource | None:
        """The served resource of the kind; None when no object of it could be looked up."""
        return next((s.resource for (seen, _), s in self._sources.items() if seen == kind), None)

    def made_for(self, kind: Kind, namespace: str, rollout_uid: str) -> tuple[RawObject, ...]:
        """The companion objects of a Rollout's gateway objects."""
        source = self._made.get(kind)
        found = source.store.values() if source is not None else ()
        named = (
            _named(item, kind) for item in found if is_companion_for(item.metadata, rollout_uid)
        )
        return tuple(map(_raw, named))

    def every(self, kind: Kind, namespace: str) -> tuple[RawObject, ...] | Unavailable:
        """None: a command names each object that it reads."""
        return ()

    def find(self, kind: Kind, key: Key) -> RawObject | Unavailable | None:
        """The object, None when there is none, or the reason why it is not known."""
        workload = self._workloads.get((kind, key))
        if workload is not None:
            pod_set = workload.store.get(key)
            return None if pod_set is None else _raw(pod_set)
        source = self._sources.get((kind, key))
        if source is None:
            absent = Loading("the plan changed: look again to see this object")
            return self._problems.get((kind, key), absent)
        found = source.store.get(key)
        if found is None:
            return None
        return _raw(_named(found, kind))


def _named(found: GatewayObject, kind: Kind) -> GatewayObject:
    """The object with the kind of its list: the items of a list of built-in objects (Ingress) do not have it."""
    api_version, name = kind
    return msgspec.structs.replace(
        found, api_version=found.api_version or api_version, kind=found.kind or name
    )


def _raw(found: GatewayObject | PodSet) -> RawObject:
    return RawObject(found.metadata, msgspec.Raw(msgspec.json.encode(found)))


async def look_up(client: KubeClient, kind: Kind) -> Resource:
    """How a kind is addressed; raises NotFound if it is not served."""
    api_version, name = kind
    found = await served(client, api_version, name)
    if found is None:
        raise NotFound(
            f"{name} ({api_version}) is not served by this cluster: install its CRD, or correct apiVersion and kind",
            status=404,
        )
    return found


def unavailable_because(failure: MoonshiftError) -> Unavailable:
    """An answer of the API server, as the type that all readers see."""
    match failure:
        case ForbiddenByServer():
            return Forbidden(explain(failure))
        case NotFound():
            return NotServed(explain(failure))
        case _:
            return Failing(explain(failure))
