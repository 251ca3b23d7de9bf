"""Passes over Rollouts and TrafficRoutings: the work that only the holder of the Lease does.

Invariant: no pass begins before the state of every cache is known. Nothing here decides or acts.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple

from controller.api.meta import Key
from controller.api.names import (
    CONFIGURATION,
)
from controller.api.notification import Notification
from controller.api.rollout import Rollout
from controller.api.trafficrouting import TrafficRouting
from controller.app.heap import HeapAtRest
from controller.app.tracing import passes
from controller.app.watched import Watched
from controller.domain.decision import Note
from controller.effects.apply import Routes
from controller.effects.asking_scripts import KubeAskingScripts
from controller.effects.gate_jobs import GateJobs
from controller.effects.gate_secrets import GateSecrets
from controller.effects.gateways.confirming import Verdicts
from controller.effects.gateways.kube_objects import KubeGatewayObjects
from controller.effects.gateways.library import ConfiguredScripts
from controller.effects.gateways.routes import GatewayRoutes
from controller.effects.gateways.script_answers import Tried
from controller.effects.history import Histories
from controller.effects.notifications import resource_of
from controller.kube import resources
from controller.kube.client import KubeClient
from controller.kube.events import EventRecorder
from controller.kube.ledger import WriteLedger
from controller.kube.resources import Resource
from controller.outbound import golden
from controller.outbound.checking import Checking
from controller.outbound.egress import AllowList, api_server_addresses, parse_allowed
from controller.outbound.exchanging import Exchanging
from controller.outbound.fetching import Fetching
from controller.outbound.measuring import Measuring
from controller.reconcilers.account_rights import AccountRights
from controller.reconcilers.gates import Gates
from controller.reconcilers.notifications import Notifying
from controller.reconcilers.reporting import Reporting
from controller.reconcilers.rights import MissingRights
from controller.reconcilers.rollout import RolloutReconciler
from controller.reconcilers.script_checks import ScriptChecks
from controller.reconcilers.trafficrouting import SharedWorld, TrafficRoutingReconciler
from controller.reconcilers.world import World
from controller.runtime.clock import Clock
from controller.runtime.leadership import Leadership, Namespaces
from controller.runtime.worker import Worker
from controller.scripts.worker_client import ScriptClient
from controller.settings import Settings
from controller.telemetry.metrics import Metrics

RESERVED_WORKERS = 8
"""Additional workers for Rollouts that a person changed: all others may be waiting for the API server. With two of
them, the third of three approvals at the same time waited for a second."""

NOTIFICATION_WORKERS = 16
"""Passes over Notifications at a time: a target that hangs keeps one of them for as long as one try lasts."""

_log = logging.getLogger(__name__)


class Asking(NamedTuple):
    """How other systems are asked: one request, and scripts that ask."""

    fetching: Fetching
    exchanging: Exchanging


class Reconciling:
    """The reconcilers of one process, their workers and the client of the script worker."""

    def __init__(
        self,
        settings: Settings,
        client: KubeClient,
        metrics: Metrics,
        watched: Watched,
        scripts: ConfiguredScripts,
        recorder: EventRecorder,
        clock: Clock,
        leadership: Leadership,
        heap: HeapAtRest,
    ) -> None:
        """`client` lets writes through that `leadership` allows, and no others."""
        self._leadership = leadership
        self._heap = heap
        self._of_rollouts: RolloutReconciler | None = None
        self._of_routings: TrafficRoutingReconciler | None = None
        self._of_notifications: Notifying | None = None
        self._settings = settings
        self._client = client
        self._metrics = metrics
        self._watched = watched
        self._scripts = scripts
        self._recorder = recorder
        self._clock = clock
        self._random = Random()
        self._tried = {resources.ROLLOUTS: Tried(), resources.TRAFFIC_ROUTINGS: Tried()}
        self._verdicts = Verdicts()
        self._account_rights = AccountRights(client.may, clock.monotonic)
        self._rights = MissingRights(
            self._account_rights.review, watched.wiring.kind_availability_changed
        )

    async def run(self, certified: asyncio.Event) -> None:
        """Passes over Rollouts, once the state of every cache is known."""
        await self._watched.sources.settled()
        state = self._metrics.state
        state.lead(lambda: self._watched.state(self._clock.now()))
        try:
            await self._reconcile_certified(certified)
        finally:
            state.lead(None)

    def forget(self, namespaces: Namespaces) -> None:
        """Another process works on these namespaces from now on: drop everything that this process stores about
        them."""
        caches = self._watched.caches
        for rollout in caches.rollouts.values():
            if self._of_rollouts and namespaces(rollout.metadata.namespace):
                self._of_rollouts.forget(rollout.metadata.key)
        for notification in self._watched.all_notifications():
            if self._of_notifications and namespaces(notification.metadata.namespace):
                self._of_notifications.forget(notification.metadata.key)
        for routing in caches.traffic_routings.values():
            if self._of_routings and namespaces(routing.metadata.namespace):
                self._of_routings.forget(routing.metadata.key)

    async def _reconcile_certified(self, certified: asyncio.Event) -> None:
        # The worker is called with a certificate that the endpoint's keeper has written.
        await certified.wait()
        worker = self._worker()
        asking = self._asking(worker)
        measures, checks = self._measuring(asking), self._checking(asking)
        try:
            await self._reconcile_with(worker, measures, checks, asking.exchanging)
        finally:
            await worker.close()
            await checks.aclose()
            await measures.aclose()

    async def _reconcile_with(
        self,
        worker: ScriptClient,
        measures: Measuring,
        checks: Checking,
        asking: Exchanging,
    ) -> None:
        gates = Gates(
            self._watched.caches, self._watched.sources, measures, checks, golden.packaged()
        )
        world = World(
            self._watched.caches,
            self._watched.kinds,
            self._watched.sources,
            headers=self._scripts.header,
            missing=self._scripts.missing,
            taken=self._verdicts.about,
            own_scripts=self._watched.own_scripts,
            allow_cluster_scoped=self._settings.allow_cluster_scoped,
            histories_kept=self._settings.histories_kept,
            appends_pod_labels=self._settings.appends_pod_labels,
            config_objects=self._watched.configs,
            gates=gates,
        )
        rollouts = self._rollout_workers(world, worker, measures, checks)
        routings = self._routing_workers(world, worker)
        notifying = self._notifying(asking)
        of_scripts = self._script_checks(worker)
        _log.info("reconciling", extra={"rollouts": len(self._watched.caches.rollouts)})
        async with asyncio.TaskGroup() as group:
            group.create_task(self._rights.run(), name="missing-rights")
            group.create_task(
                self._leadership.during(self._settings.namespace, of_scripts.run),
                name="script-checks",
            )
            group.create_task(rollouts.run(), name="rollout-workers")
            group.create_task(routings.run(), name="trafficrouting-workers")
            group.create_task(self._tell(notifying), name="notification-workers")

    def _rollout_workers(
        self, world: World, worker: ScriptClient, measures: Measuring, checks: Checking
    ) -> Worker[Key]:
        queue = self._watched.rollouts
        self._of_rollouts = reconciler = RolloutReconciler(
            worlds=world,
            kube=self._client,
            routes_for=self._make_routes(worker, queue.ledger, resources.ROLLOUTS),
            histories=Histories(self._client),
            kinds=self._watched.kinds,
            events=self._client,
            ledger=queue.ledger,
            clock=self._clock,
            reporting=Reporting(
                self._record, self._metrics, partial(self._forget, resources.ROLLOUTS)
            ),
            random=self._random,
            rights=self._rights,
            measures=measures,
            checks=checks,
        )
        return Worker(
            "rollout-controller",
            queue.keys,
            self._heap.after(passes("rollout", reconciler.reconcile)),
            workers=self._settings.rollout_workers,
            reserved=RESERVED_WORKERS,
            metrics=self._metrics,
        )

    def _routing_workers(self, world: World, worker: ScriptClient) -> Worker[Key]:
        queue = self._watched.routings
        self._of_routings = reconciler = TrafficRoutingReconciler(
            world=SharedWorld(self._watched.caches, world, self._clock),
            kube=self._client,
            routes_for=self._make_routes(worker, queue.ledger, resources.TRAFFIC_ROUTINGS),
            ledger=queue.ledger,
            clock=self._clock,
            events=self._record_for_routing,
            metrics=self._metrics,
            random=self._random,
            rights=self._rights,
            gone=partial(self._forget, resources.TRAFFIC_ROUTINGS),
        )
        return Worker(
            "trafficrouting-controller",
            queue.keys,
            self._heap.after(passes("trafficrouting", reconciler.reconcile)),
            workers=self._settings.trafficrouting_workers,
            metrics=self._metrics,
        )

    def _notifying(self, asking: Exchanging) -> Notifying:
        queue = self._watched.notifications
        self._of_notifications = notifying = Notifying(
            caches=self._watched.caches,
            kube=self._client,
            exchanging=asking,
            ledger=queue.ledger,
            clock=self._clock,
            events=self._record_for_notification,
            wake=queue.keys.add,
            home=self._settings.namespace,
            own_scripts=self._watched.own_scripts,
        )
        return notifying

    async def _tell(self, notifying: Notifying) -> None:
        """Passes over Notifications, while each change of a Rollout is looked at."""
        end = notifying.follow()
        try:
            await Worker(
                "notification-controller",
                self._watched.notifications.keys,
                passes("notification", notifying.reconcile),
                workers=NOTIFICATION_WORKERS,
                metrics=self._metrics,
            ).run()
        finally:
            end()

    def _script_checks(self, worker: ScriptClient) -> ScriptChecks:
        return ScriptChecks(
            self._watched.scripts_map.store,
            Key(self._settings.namespace, CONFIGURATION),
            validator=worker,
            shadows=self._scripts.library,
            report=partial(self._recorder.record, resources.CONFIG_MAPS),
            metrics=self._metrics,
        )

    def _worker(self) -> ScriptClient:
        settings = self._settings
        return ScriptClient(
            settings.lua_worker,
            tls_dir=str(settings.lua_worker_tls_dir or ""),
            metrics=self._metrics,
        )

    def _asking(self, worker: ScriptClient) -> Asking:
        """All requests to other systems: the addresses that the administrator has allowed, and never the API
        server's.
        """
        settings = self._settings
        prometheus = filter(None, (settings.prometheus,))
        allowed = (
            *parse_allowed(settings.analysis_allow),
            *parse_allowed(settings.analysis_allow_post, "--analysis-allow-post", posts=True),
            *parse_allowed(prometheus, "--prometheus"),
        )
        fetching = Fetching(
            AllowList(allowed),
            GateSecrets(self._client),
            api_server_addresses(self._client.server),
        )
        scripts = KubeAskingScripts(
            self._scripts.resolve_asking,
            worker,
            self._account_rights,
            self._watched.gateways(self._client),
        )
        return Asking(fetching, Exchanging(fetching, scripts, self._clock.now))

    def _measuring(self, asking: Asking) -> Measuring:
        """The metric sources."""
        wake, now = self._watched.rollouts.keys.add, self._clock.now
        jobs = GateJobs(self._client, now, self._random)
        default = self._settings.prometheus
        return Measuring(asking.fetching, wake, now, default, jobs, asking.exchanging)

    def _checking(self, asking: Asking) -> Checking:
        """The checks of releases."""
        return Checking(asking.exchanging, self._watched.rollouts.keys.add, self._clock.now)

    def _forget(self, resource: Resource, key: Key) -> None:
        """The object is gone: drop the list of scripts that its passes tried, and its Events."""
        self._recorder.forget(resource, key)
        self._tried[resource].forget(key)

    def _make_routes(
        self, worker: ScriptClient, ledger: WriteLedger, resource: Resource
    ) -> Callable[[Key], Routes]:
        """Gateway objects of a Rollout or TrafficRouting; its writes are remembered."""
        reads, tried = self._watched.gateways(self._client), self._tried[resource]

        def routes_for(key: Key) -> Routes:
            return GatewayRoutes(
                KubeGatewayObjects(reads, ledger.scoped(key)),
                self._scripts,
                worker,
                rights=self._account_rights,
                allow_cluster_scoped=self._settings.allow_cluster_scoped,
                tried=tried.of(key),
                verdicts=self._verdicts,
            )

        return routes_for

    def _record(self, rollout: Rollout, note: Note) -> None:
        self._recorder.record(
            resources.ROLLOUTS, rollout.metadata, note.severity.value, note.reason, note.message
        )

    def _record_for_notification(self, notification: Notification, note: Note) -> None:
        self._recorder.record(
            resource_of(notification),
            notification.metadata,
            note.severity.value,
            note.reason,
            note.message,
        )

    def _record_for_routing(self, routing: TrafficRouting, note: Note) -> None:
        self._recorder.record(
            resources.TRAFFIC_ROUTINGS,
            routing.metadata,
            note.severity.value,
            note.reason,
            note.message,
        )
