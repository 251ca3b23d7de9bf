"""Gathers the facts about one Rollout: the controller's own caches and observation, filled for one object.

Invariant: only objects of the workload's selector and the Rollout's references are read; a kind that may not be read is
a named gap, never an empty list. Changes come by watches; nothing is polled.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from controller.api.meta import Key
from controller.api.names import KEPT_FOR
from controller.api.networking import SERVICE_NAME_LABEL, EndpointSlice, Service
from controller.api.podsets import ControllerRevision, slimmed
from controller.api.rollout import Rollout
from controller.api.trafficrouting import TrafficRouting
from controller.api.workloads import Deployment, Pod, ReplicaSet
from controller.cli.reading.gateway_watches import Gateways, unavailable_because
from controller.cli.reading.source import Source, named
from controller.domain.availability import Unavailable
from controller.domain.observation import Observation
from controller.domain.rollout.routes.shared_routing import shared_routing_of
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.traffic.plan.traffic_plan import references_of, services_of
from controller.errors import MoonshiftError
from controller.kube.client import KubeClient
from controller.kube.reflector import Reflector
from controller.kube.resources import (
    CONTROLLER_REVISIONS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    PODS,
    REPLICA_SETS,
    ROLLOUTS,
    SERVICES,
    TRAFFIC_ROUTINGS,
    Resource,
)
from controller.kube.store import Store, V
from controller.reconcilers.caches import Caches
from controller.reconcilers.world import World


class _Requirement(msgspec.Struct, frozen=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class _Selector(msgspec.Struct, frozen=True, rename="camel"):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[_Requirement, ...] = ()


def selector_text(selector: bytes) -> str:
    """A workload's selector as the API's list parameter spells it."""
    read = msgspec.json.decode(selector or b"{}", type=_Selector)
    parts = [f"{key}={value}" for key, value in read.match_labels.items()]
    for needed in read.match_expressions:
        match needed.operator:
            case "In":
                parts.append(f"{needed.key} in ({','.join(needed.values)})")
            case "NotIn":
                parts.append(f"{needed.key} notin ({','.join(needed.values)})")
            case "Exists":
                parts.append(needed.key)
            case _:
                parts.append(f"!{needed.key}")
    return ",".join(parts)


class Facts:
    """One Rollout and its world."""

    def __init__(self, client: KubeClient, key: Key) -> None:
        self._unread: dict[str, Unavailable] = {}
        self._reflectors: list[Reflector[Any]] = []
        self._client = client
        self._key = key
        self._caches = Caches()
        self._gateways = Gateways()
        self._world = World(self._caches, self._gateways, self._gateways)
        self._sources: list[Source[Any]] = []
        self._followed: list[Source[Any]] = []
        """Read before the others, because they determine which other objects to read."""

    async def load(self, rollout: Rollout) -> None:
        """Read everything once; the Rollout itself has been read already."""
        self._caches.rollouts.put(rollout)
        deployments = self._source(DEPLOYMENTS, self._caches.deployments, Deployment)
        await self._load(deployments)
        await self._add_pods(rollout)
        canary = rollout.spec.strategy.plan
        routings = canary.traffic_routings if canary is not None else ()
        shared = canary is not None and canary.disable_generate_canary_service
        if routings:
            self._add_services(
                {name for p in services_of(routings, shared) for name in (p.stable, p.canary)}
            )
        if routing := shared_routing_of(rollout):
            self._sources.append(self._shared_routing(routing))
        async with asyncio.TaskGroup() as group:
            for source in self._sources:
                group.create_task(self._load(source))
            references = references_of(
                routings, disable_generate=shared, namespace=self._key.namespace
            )
            load = self._gateways.load(
                self._client, self._key.namespace, references, rollout.metadata.uid
            )
            group.create_task(load)
        rollouts = self._source(ROLLOUTS, self._caches.rollouts, Rollout, named(self._key.name))
        self._sources += [deployments, *self._followed, rollouts, *self._gateways.sources]

    @property
    def gaps(self) -> dict[str, Unavailable]:
        """The kinds that cannot be read at present, with the reasons."""
        broken = {r.resource.name: r.trouble for r in self._reflectors if r.trouble is not None}
        return self._unread | broken

    def observe(self) -> Observation | None:
        """The present state; None once the Rollout is gone."""
        return self._world.observe(self._key)

    async def follow(self, changed: Callable[[], None]) -> None:
        """Keep everything up to date and report every change, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for source in self._sources:
                if source.resource.name not in self._unread:
                    source.store.subscribe(lambda old, new: changed())
                    reflector = source.reflector(self._client, changed)
                    self._reflectors.append(reflector)
                    group.create_task(reflector.run())

    async def _add_pods(self, rollout: Rollout) -> None:
        ref = rollout.spec.workload_ref
        key = Key(self._key.namespace, ref.name)
        if (ref.group, ref.kind) == ("apps", "Deployment"):
            workload = self._caches.deployments.get(key)
            if workload is not None:
                self._select(bytes(workload.spec.selector))
                self._sources.append(self._replica_sets(bytes(workload.spec.selector)))
                if moonshift_status(rollout.status).release:
                    self._sources.append(self._revisions(f"{KEPT_FOR}={workload.metadata.uid}"))
            return
        try:
            source = await self._gateways.load_workload(
                self._client, (ref.api_version, ref.kind), key
            )
        except MoonshiftError as failure:
            self._unread[ref.kind] = unavailable_because(failure)
            return
        self._followed.append(source)
        pod_set = source.store.get(key)
        if pod_set is not None:
            self._select(bytes(pod_set.spec.selector))
            self._sources.append(self._revisions(selector_text(bytes(pod_set.spec.selector))))

    def _select(self, selector: bytes) -> None:
        pods: type[Pod] = Pod
        labels = selector_text(selector)
        self._sources.append(self._source(PODS, self._caches.pods, pods, labels=labels))

    def _replica_sets(self, selector: bytes) -> Source[ReplicaSet]:
        labels = selector_text(selector)
        return self._source(REPLICA_SETS, self._caches.replica_sets, ReplicaSet, labels=labels)

    def _revisions(self, labels: str) -> Source[ControllerRevision]:
        return Source(
            CONTROLLER_REVISIONS,
            self._caches.revisions,
            ControllerRevision,
            namespace=self._key.namespace,
            labels=labels,
            transform=slimmed,
        )

    def _shared_routing(self, name: str) -> Source[TrafficRouting]:
        return self._source(
            TRAFFIC_ROUTINGS, self._caches.traffic_routings, TrafficRouting, named(name)
        )

    def _add_services(self, services: set[str]) -> None:
        chosen = f"{SERVICE_NAME_LABEL} in ({','.join(sorted(services))})"
        self._sources += [
            self._source(SERVICES, self._caches.services, Service),
            self._source(ENDPOINT_SLICES, self._caches.slices, EndpointSlice, labels=chosen),
        ]

    def _source(
        self, resource: Resource, store: Store[V], view: type[V], fields: str = "", labels: str = ""
    ) -> Source[V]:
        return Source(
            resource, store, view, namespace=self._key.namespace, labels=labels, fields=fields
        )

    async def _load(self, source: Source[Any]) -> None:
        try:
            await source.load(self._client)
        except MoonshiftError as failure:
            self._unread[source.resource.name] = unavailable_because(failure)
