"""The composition root: creates the parts of the controller and binds them to each other.

Invariant: nothing here decides or acts; every Protocol that a room owns is bound in this package and only
here. Webhooks, conversion, probes and metrics run on every replica; caches are warm everywhere; reconcilers run on the
leader only, or on every holder of a shard for its namespaces. Their writes pass the fence of the Lease; every replica
may write certificates.
"""

import asyncio
import os
import socket
from collections.abc import Callable

from controller.app.election import leadership_of
from controller.app.garbage import FullCollections
from controller.app.heap import HeapAtRest
from controller.app.reconciling import Reconciling
from controller.app.scraping import secure_metrics
from controller.app.tracing import traced
from controller.app.watched import Watched
from controller.domain import reasons
from controller.effects.gateways.library import ConfiguredScripts
from controller.kube.client import KubeClient
from controller.kube.events import EventRecorder
from controller.kube.transport import save_memory_of_tls
from controller.runtime.clock import SystemClock
from controller.runtime.leadership import Namespaces
from controller.runtime.shutdown_delay import ShutdownDelay
from controller.runtime.supervisor import Part, Supervisor, stopping_on_signals
from controller.scripts.lookup import ScriptLibrary
from controller.settings import Settings
from controller.telemetry.health import HealthServer
from controller.telemetry.metrics import Metrics
from controller.webhook.assembly import make_endpoint
from controller.webhook.named_objects import Surroundings
from controller.webhook.readers import CachedReader

USER_AGENT = "moonshift-controller"

EVENTS_WITHIN = 1.0
"""Seconds that a leader takes to write its last Events."""


class App:
    """One controller process."""

    def __init__(
        self, settings: Settings, client: KubeClient, lease_client: KubeClient, metrics: Metrics
    ) -> None:
        clock = SystemClock()
        identity = identity_of(settings)
        self._leadership = leadership = leadership_of(
            settings, lease_client, identity, clock, metrics
        )
        leading = client.fenced(leadership.check)
        self._watched = watched = Watched(settings, client, metrics, leadership.holds)
        leadership.on_changes(watched.begin, self._end)
        self._recorder = EventRecorder(
            leading, component="rollout-controller", instance=identity, clock=clock,
            metrics=metrics, gathered=reasons.OF_EVERY_STEP,
        )  # fmt: skip
        open_metrics = "0" if settings.metrics_secure else settings.metrics_bind_address
        self._health = HealthServer(settings.health_probe_bind_address, open_metrics, metrics)
        self._shutdown_delay = ShutdownDelay(settings.shutdown_delay)
        scripts = ConfiguredScripts(
            ScriptLibrary.read(), watched.scripts_map.data, watched.own_scripts.data
        )
        self._endpoint = make_endpoint(
            settings,
            client,
            _reader(client, watched),
            clock,
            metrics,
            scripts.header,
            scripts.asking_header,
            Surroundings(watched.named(), watched.gateways(client)),
            lambda: self._shutdown_delay.begun,
        )
        self._secure = secure_metrics(settings, client, metrics, self._endpoint, clock)
        self._heap = HeapAtRest()
        self._reconciling = Reconciling(
            settings, leading, metrics, watched, scripts, self._recorder, clock, leadership,
            self._heap,
        )  # fmt: skip
        self._prepare: Callable[[], None] = lambda: None

    def before_first_passes(self, prepare: Callable[[], None]) -> None:
        """`prepare` is called when the state of every cache is known, and when the Lease was taken."""

        def first() -> None:
            prepare()
            self._heap.disturb()  # lists leave free pages, too

        self._prepare = first
        self._watched.sources.once_filled(first)

    async def run(self, stop: asyncio.Event) -> None:
        """Run all parts until `stop`, or until one of them ends."""
        self._watched.add_notes(self._health)
        if self._secure is not None:
            self._health.add_note("metrics", self._secure.why_closed)
        self._shutdown_delay.watch(stop)
        self._health.add_note("certificate", self._endpoint.note)
        self._health.add_ready_check("webhooks", lambda: self._endpoint.problem)
        self._health.add_ready_check("running", lambda: self._shutdown_delay.problem)
        parts = [
            Part("health", self._health.run),
            Part("webhooks", self._endpoint.run),
            *([Part("metrics", self._secure.run)] if self._secure is not None else []),
            *self._watched.parts(self._endpoint.look_again),
            # Parts end in reverse order: the Lease is released first, and caches and webhooks end last.
            Part("shutdown-delay", self._shutdown_delay.run, self._shutdown_delay.stop_within),
            Part("events", self._recorder.run),
            Part("rollouts", lambda: self._leadership.run(self._reconcile)),
        ]
        await Supervisor(parts, stop).run()

    async def _end(self, namespaces: Namespaces) -> None:
        """The end of the work on namespaces that are handed over."""
        await self._watched.end(namespaces)
        self._reconciling.forget(namespaces)
        await self._recorder.drain(EVENTS_WITHIN)

    async def _reconcile(self) -> None:
        self._prepare()
        try:
            await self._reconciling.run(self._endpoint.certified)
        finally:
            # Before the Lease is released: the next leader does not know the Events that are still queued.
            await self._recorder.drain(EVENTS_WITHIN)


def identity_of(settings: Settings) -> str:
    """The name of this process in the Lease, in Events and in its requests' user agent."""
    return settings.identity or f"{socket.gethostname()}_{os.getpid()}"


def _reader(client: KubeClient, watched: Watched) -> CachedReader:
    """The objects that admission asks for, from the caches where these are filled."""
    caches = watched.caches
    return CachedReader(
        client, caches.rollouts, caches.replica_sets, caches.revisions, watched.known
    )


async def run_controller(settings: Settings) -> None:
    """Connect, run, close; returns when asked to stop by a signal."""
    collections = FullCollections()
    save_memory_of_tls()
    metrics = Metrics()
    user_agent = f"{USER_AGENT} ({identity_of(settings)})"
    client = await KubeClient.connect(
        kubeconfig=settings.kubeconfig,
        context=settings.context,
        qps=settings.kube_api_qps,
        burst=settings.kube_api_burst,
        user_agent=user_agent,
        metrics=metrics,
    )
    # A pool of its own: renewals never queue behind writes.
    lease_client = await KubeClient.connect(
        kubeconfig=settings.kubeconfig, context=settings.context, user_agent=user_agent,
        metrics=metrics,
    )  # fmt: skip
    stop = asyncio.Event()
    try:
        app = App(settings, client, lease_client, metrics)
        app.before_first_passes(collections.await_first_passes)
        with stopping_on_signals(stop):
            async with traced(settings.otlp_endpoint, identity_of(settings)):
                await app.run(stop)
    finally:
        await client.aclose()
        await lease_client.aclose()
