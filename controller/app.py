"""The composition root: which parts the controller is made of, and what is bound to what.

Invariant: nothing here decides or does anything; every Protocol that a room owns is bound here and only here. Webhooks,
conversion, probes and metrics run on every replica; caches are warm everywhere; reconcilers run on the leader only.
"""

import asyncio
import gc
import logging
import os
import socket
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TypeVar

import msgspec

from controller.api.meta import Key, ObjectMeta
from controller.api.names import (
    CONFIGURATION,
    LEASE,
    MUTATING_CONFIGURATION,
    VALIDATING_CONFIGURATION,
)
from controller.api.networking import EndpointSlice, Service
from controller.api.podsets import ControllerRevision, slimmed
from controller.api.rollout import Rollout
from controller.api.trafficrouting import TrafficRouting
from controller.api.workloads import Deployment, Pod, ReplicaSet, slimmed_pod
from controller.domain.availability import Synced
from controller.domain.decision import Note
from controller.effects.apply import Routes
from controller.effects.gateways.answers import Tried
from controller.effects.gateways.kube_objects import KubeGatewayObjects
from controller.effects.gateways.library import ConfiguredScripts
from controller.effects.gateways.routes import GatewayRoutes
from controller.effects.history import Histories
from controller.kube import resources
from controller.kube.client import KubeClient
from controller.kube.config_objects import ConfigObjects
from controller.kube.dynamic import DynamicKinds
from controller.kube.events import EventRecorder
from controller.kube.gateway_reads import GatewayReads
from controller.kube.lease import KubeLeaseStore
from controller.kube.ledger import WriteLedger
from controller.kube.reflector import Reflector
from controller.kube.resources import Resource
from controller.kube.store import HasMetadata, Store
from controller.reconcilers.caches import Caches
from controller.reconcilers.rights import MissingRights
from controller.reconcilers.rollout import RolloutReconciler
from controller.reconcilers.script_checks import ScriptChecks
from controller.reconcilers.scripts import ConfigMap, ConfiguredScriptsMap
from controller.reconcilers.sources import Sources, Watching
from controller.reconcilers.telling import Telling
from controller.reconcilers.trafficrouting import SharedWorld, TrafficRoutingReconciler
from controller.reconcilers.wiring import Wiring
from controller.reconcilers.world import World
from controller.runtime.clock import SystemClock
from controller.runtime.leader import Leader
from controller.runtime.supervisor import Part, Supervisor, stopping_on_signals
from controller.runtime.worker import Worker
from controller.runtime.workqueue import WorkQueue
from controller.scripts.client import ScriptClient
from controller.scripts.lookup import ScriptLibrary
from controller.settings import Settings
from controller.telemetry.health import HealthServer
from controller.telemetry.metrics import Metrics
from controller.webhook.assembly import make_endpoint
from controller.webhook.readers import CachedReader
from controller.webhook.surroundings import NamedCaches, Surroundings

V = TypeVar("V", bound=HasMetadata)
USER_AGENT = "moonshift-controller"

_log = logging.getLogger(__name__)


class Named(msgspec.Struct, frozen=True):
    """An object of which only the version matters."""

    metadata: ObjectMeta = ObjectMeta()


class App:
    """One controller process."""

    def __init__(
        self, settings: Settings, client: KubeClient, lease_client: KubeClient, metrics: Metrics
    ) -> None:
        self._settings = settings
        self._client = client
        self._random = Random()
        self._clock = SystemClock()
        self.metrics = metrics
        self.caches = Caches()
        self._scripts_map = ConfiguredScriptsMap(settings.namespace)
        self._library = ScriptLibrary.read()
        self._scripts = ConfiguredScripts(self._library, self._scripts_map.data)
        self._tried = Tried()
        self._queue: WorkQueue[Key] = WorkQueue(
            "rollout", random=self._random, metrics=self.metrics
        )
        self._ledger = WriteLedger(requeue=self._queue.add)
        self._routing_queue: WorkQueue[Key] = WorkQueue(
            "trafficrouting", random=self._random, metrics=self.metrics
        )
        self._routing_ledger = WriteLedger(requeue=self._routing_queue.add)
        self._wiring = Wiring(self.caches, self._queue.add, self._routing_queue.add)
        self._kinds = DynamicKinds(
            client,
            namespace=settings.watch_namespace,
            changed=self._wiring.named_object_changed,
            ready=self._wiring.holder_turns,
            follow=self._follow,
            random=self._random,
            metrics=self.metrics,
        )
        identity = settings.identity or f"{socket.gethostname()}_{os.getpid()}"
        self._recorder = EventRecorder(
            client, component="rollout-controller", instance=identity, clock=self._clock,
            metrics=self.metrics,
        )  # fmt: skip
        self._rights = MissingRights(client.may, self._wiring.holder_turns)
        self._leader = Leader(
            KubeLeaseStore(lease_client, settings.namespace, LEASE),
            identity,
            clock=self._clock,
            random=self._random,
            name=LEASE,
            metrics=self.metrics,
        )
        self._health = HealthServer(
            settings.health_probe_bind_address, settings.metrics_bind_address, self.metrics.render
        )
        self._sources = Sources(self._wiring.source_turns, self.metrics)
        self._reflectors = self._make_reflectors()
        self._sources.follow(self._reflectors)
        self._configs = ConfigObjects(
            client,
            settings.track_config,
            namespace=settings.watch_namespace,
            changed=self._wiring.config_changed,
            ready=self._wiring.config_ready,
            follow=self._follow,
            random=self._random,
            metrics=self.metrics,
        )
        self._endpoint = make_endpoint(
            settings,
            client,
            CachedReader(client, self.caches.rollouts, self.caches.replica_sets, self._known),
            self._clock,
            metrics,
            self._scripts.header,
            Surroundings(
                NamedCaches(
                    self.caches.deployments,
                    self.caches.services,
                    self.caches.traffic_routings,
                    self._kinds,
                    lambda kind: self._sources.unavailable((kind,)) is None,
                ),
                GatewayReads(client, self._kinds),
            ),
        )
        self._wiring.connect()

    # --- parts ------------------------------------------------------------------------------------

    def _make_reflectors(self) -> tuple[Watching, ...]:
        """Everything that is watched from the start; the ledger listens before a store is filled."""
        everywhere = self._settings.watch_namespace
        return (
            self._reflect(resources.ROLLOUTS, self.caches.rollouts, Rollout, everywhere),
            self._reflect(
                resources.TRAFFIC_ROUTINGS, self.caches.traffic_routings, TrafficRouting, everywhere
            ),
            self._reflect(resources.DEPLOYMENTS, self.caches.deployments, Deployment, everywhere),
            self._reflect(resources.REPLICA_SETS, self.caches.replica_sets, ReplicaSet, everywhere),
            self._reflect(
                resources.CONTROLLER_REVISIONS,
                self.caches.revisions,
                ControllerRevision,
                everywhere,
                transform=slimmed,
            ),
            self._reflect(resources.PODS, self.caches.pods, Pod, everywhere, transform=slimmed_pod),
            self._reflect(resources.SERVICES, self.caches.services, Service, everywhere),
            self._reflect(resources.ENDPOINT_SLICES, self.caches.slices, EndpointSlice, everywhere),
            self._reflect(
                resources.CONFIG_MAPS,
                self._scripts_map.store,
                ConfigMap,
                self._settings.namespace,
                field_selector=f"metadata.name={CONFIGURATION}",
            ),
        )

    def _make_published(self) -> tuple[Watching, ...]:
        """The webhook configurations: a manifest that is applied again takes our identity out of them."""
        found: list[Watching] = []
        for resource, name in (
            (resources.MUTATING_WEBHOOKS, MUTATING_CONFIGURATION),
            (resources.VALIDATING_WEBHOOKS, VALIDATING_CONFIGURATION),
        ):
            store: Store[Named] = Store()
            store.subscribe(lambda old, new: self._endpoint.look_again())
            found.append(
                Reflector(
                    self._client,
                    msgspec.structs.replace(resource, metadata_only=True),
                    store,
                    Named,
                    field_selector=f"metadata.name={name}",
                    metrics=self.metrics,
                    random=self._random,
                )
            )
        return tuple(found)

    def _reflect(
        self,
        resource: Resource,
        store: Store[V],
        view_type: type[V],
        namespace: str | None,
        field_selector: str = "",
        transform: Callable[[V], V] | None = None,
    ) -> Reflector[V]:
        self._follow(resource.name, store)
        return Reflector(
            self._client,
            resource,
            store,
            view_type,
            namespace=namespace,
            field_selector=field_selector,
            transform=transform,
            told=self._sources.tell,
            metrics=self.metrics,
            random=self._random,
        )

    def _follow(self, resource_name: str, store: Store[V]) -> Callable[[], None]:
        """Both ledgers learn what a store is told; the answer ends that."""
        ends = [
            ledger.follow(resource_name, store) for ledger in (self._ledger, self._routing_ledger)
        ]

        def end() -> None:
            for one in ends:
                one()

        return end

    def _known(self) -> bool:
        """What admission reads is in the caches."""
        return self._sources.unavailable((resources.ROLLOUTS, resources.REPLICA_SETS)) is None

    def _worker(self) -> ScriptClient:
        settings = self._settings
        return ScriptClient(
            settings.lua_worker,
            tls_dir=str(settings.lua_worker_tls_dir or ""),
            metrics=self.metrics,
        )

    def _make_routes(self, worker: ScriptClient, ledger: WriteLedger) -> Callable[[Key], Routes]:
        """Gateway objects of a Rollout or TrafficRouting; what was written is remembered for it."""
        reads = GatewayReads(self._client, self._kinds)

        def routes_for(key: Key) -> Routes:
            return GatewayRoutes(
                KubeGatewayObjects(reads, ledger.scoped(key)),
                self._scripts,
                worker,
                allow_cluster_scoped=self._settings.allow_cluster_scoped,
                tried=self._tried,
            )

        return routes_for

    def _tell(self, rollout: Rollout, note: Note) -> None:
        self._recorder.record(
            resources.ROLLOUTS, rollout.metadata, note.severity.value, note.reason, note.message
        )

    def _tell_routing(self, routing: TrafficRouting, note: Note) -> None:
        self._recorder.record(
            resources.TRAFFIC_ROUTINGS,
            routing.metadata,
            note.severity.value,
            note.reason,
            note.message,
        )

    # --- running ----------------------------------------------------------------------------------

    async def run(self, stop: asyncio.Event) -> None:
        """Run all parts until `stop`, or until one of them ends."""
        for reflector in self._reflectors:
            name = reflector.resource.plural
            self._health.add_note(f"cache-{name}", _unsynced(reflector))
        self._health.add_ready_check("webhooks", lambda: self._endpoint.problem)
        parts = [Part("health", self._health.run)]
        parts.append(Part("webhooks", self._endpoint.run))
        watched = (*self._reflectors, *self._make_published())
        parts += [Part(f"watch-{r.resource.plural}", r.run) for r in watched]
        parts += [
            Part("gateway-kinds", self._kinds.run),
            Part("config-objects", self._configs.run),
            Part("events", self._recorder.run),
            Part("rollouts", self._lead if self._settings.leader_elect else self._reconcile),
        ]
        await Supervisor(parts, stop).run()

    async def _lead(self) -> None:
        await self._leader.run(self._reconcile)

    async def _reconcile(self) -> None:
        """Passes over Rollouts, once it is known how every cache stands."""
        await self._sources.settled()
        # The worker is called with a certificate that the endpoint's keeper has written.
        await self._endpoint.certified.wait()
        worker = self._worker()
        try:
            await self._reconcile_with(worker)
        finally:
            await worker.close()

    async def _reconcile_with(self, scripts: ScriptClient) -> None:
        world = World(
            self.caches,
            self._kinds,
            self._sources,
            headers=self._scripts.header,
            missing=self._scripts.missing,
            allow_cluster_scoped=self._settings.allow_cluster_scoped,
            histories_kept=self._settings.histories_kept,
            config_objects=self._configs,
        )
        reconciler = RolloutReconciler(
            worlds=world,
            kube=self._client,
            routes_for=self._make_routes(scripts, self._ledger),
            histories=Histories(self._client),
            kinds=self._kinds,
            events=self._client,
            ledger=self._ledger,
            clock=self._clock,
            telling=Telling(self._tell, self.metrics),
            random=self._random,
            rights=self._rights,
        )
        workers = Worker(
            "rollout-controller",
            self._queue,
            reconciler.reconcile,
            workers=self._settings.rollout_workers,
            metrics=self.metrics,
        )
        routings = TrafficRoutingReconciler(
            world=SharedWorld(self.caches, world, self._clock),
            kube=self._client,
            routes_for=self._make_routes(scripts, self._routing_ledger),
            ledger=self._routing_ledger,
            clock=self._clock,
            told=self._tell_routing,
            random=self._random,
            rights=self._rights,
        )
        routing_workers = Worker(
            "trafficrouting-controller",
            self._routing_queue,
            routings.reconcile,
            workers=self._settings.trafficrouting_workers,
            metrics=self.metrics,
        )
        checks = ScriptChecks(
            self._scripts_map.store,
            Key(self._settings.namespace, CONFIGURATION),
            validator=scripts,
            shadows=self._library,
            tell=partial(self._recorder.record, resources.CONFIG_MAPS),
            metrics=self.metrics,
        )
        _log.info("reconciling", extra={"rollouts": len(self.caches.rollouts)})
        async with asyncio.TaskGroup() as group:
            group.create_task(self._rights.run(), name="missing-rights")
            group.create_task(checks.run(), name="script-checks")
            group.create_task(workers.run(), name="rollout-workers")
            group.create_task(routing_workers.run(), name="trafficrouting-workers")


def _unsynced(source: Watching) -> Callable[[], str | None]:
    def check() -> str | None:
        stands = source.availability
        return None if isinstance(stands, Synced) else f"{stands.reason}: {stands.message}"

    return check


async def run_controller(settings: Settings) -> None:
    """Connect, run, close; returns when asked to stop by a signal."""
    gc.freeze()  # modules stay for good: no collection has to look at them
    metrics = Metrics()
    client = await KubeClient.connect(
        kubeconfig=settings.kubeconfig,
        context=settings.context,
        qps=settings.kube_api_qps,
        burst=settings.kube_api_burst,
        user_agent=USER_AGENT,
        metrics=metrics,
    )
    # A pool of its own: renewals never queue behind writes.
    lease_client = await KubeClient.connect(
        kubeconfig=settings.kubeconfig, context=settings.context, user_agent=USER_AGENT,
        metrics=metrics,
    )  # fmt: skip
    stop = asyncio.Event()
    try:
        app = App(settings, client, lease_client, metrics)
        with stopping_on_signals(stop):
            await app.run(stop)
    finally:
        await client.aclose()
        await lease_client.aclose()
