"""The caches of one controller process, the watches that fill them, and the queues that their changes fill.

Invariant: caches are warm on every replica; the ledger listens before a store is filled. Nothing here decides or does
anything.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from random import Random
from typing import TypeVar

import msgspec

from controller.api.analysis import AnalysisTemplate
from controller.api.meta import Key, ObjectMeta
from controller.api.names import (
    CONFIGURATION,
    GROUP,
    MUTATING_CONFIGURATION,
    VALIDATING_CONFIGURATION,
)
from controller.api.networking import EndpointSlice, Service
from controller.api.notification import Notification
from controller.api.podsets import ControllerRevision, slimmed
from controller.api.rollout import Rollout
from controller.api.salvage import read_rollout, read_traffic_routing
from controller.api.trafficrouting import TrafficRouting
from controller.api.workloads import (
    Deployment,
    Pod,
    ReplicaSet,
    slimmed_deployment,
    slimmed_pod,
    slimmed_replica_set,
)
from controller.certificates.for_worker import CLIENT_SECRET, WORKER_SECRET
from controller.domain.availability import Synced
from controller.domain.rollout.approvals.changes_by_people import has_request
from controller.kube import resources
from controller.kube.client import KubeClient
from controller.kube.config_objects import ConfigObjects
from controller.kube.dynamic import DynamicKinds
from controller.kube.gateway_reads import GatewayReads
from controller.kube.ledger import LateEvents, WriteLedger
from controller.kube.reflector import Reflector
from controller.kube.resources import Resource
from controller.kube.store import HasMetadata, Store
from controller.reconcilers.caches import Caches
from controller.reconcilers.notifications import OWNER_PREFIX
from controller.reconcilers.own_scripts import OwnScripts
from controller.reconcilers.relevance import SOON_SECONDS
from controller.reconcilers.scripts import ConfigMap, ConfiguredScriptsMap
from controller.reconcilers.sources import Sources, Watching
from controller.reconcilers.wiring import Wiring
from controller.runtime.leadership import Namespaces
from controller.runtime.supervisor import Part
from controller.runtime.workqueue import WorkQueue
from controller.settings import Settings
from controller.telemetry.health import HealthServer
from controller.telemetry.metrics import Metrics
from controller.telemetry.state.collector import Seen
from controller.webhook.named_objects import NamedCaches

V = TypeVar("V", bound=HasMetadata)


class Named(msgspec.Struct, frozen=True):
    """An object of which only the version matters."""

    metadata: ObjectMeta = ObjectMeta()


class Queue:
    """Keys of one kind that wait for a pass, and the writes of their passes that the caches do not show yet."""

    def __init__(
        self, name: str, random: Random, metrics: Metrics, holds: Namespaces, seen: LateEvents
    ) -> None:
        """`seen` are the events of all caches, the same for all queues."""
        self.keys: WorkQueue[Key] = WorkQueue(
            name, random=random, metrics=metrics, admits=lambda key: holds(key.namespace)
        )
        self.ledger = WriteLedger(requeue=self.keys.add, seen=seen)


class Watched:
    """All watches, and the keys that they wake."""

    def __init__(
        self, settings: Settings, client: KubeClient, metrics: Metrics, holds: Namespaces
    ) -> None:
        """Only Rollouts of namespaces that this process `holds` get passes and metrics."""
        self._holds = holds
        self._settings = settings
        self._client = client
        self._metrics = metrics
        self._random = Random()
        self.caches = Caches()
        seen = LateEvents()
        self.rollouts = Queue("rollout", self._random, metrics, holds, seen)
        self.routings = Queue("trafficrouting", self._random, metrics, holds, seen)
        self.notifications = Queue("notification", self._random, metrics, holds, seen)
        self.wiring = self._make_wiring()
        self.scripts_map = ConfiguredScriptsMap(settings.namespace)
        self.sources = Sources(self.wiring.cache_availability_changed, metrics)
        self.kinds = DynamicKinds(
            client,
            namespace=settings.watch_namespace,
            changed=self.wiring.named_object_changed,
            ready=self.wiring.kind_availability_changed,
            follow=self._follow,
            random=self._random,
            metrics=metrics,
        )
        self.own_scripts = OwnScripts(client, self._script_changed, self._random)
        self.reflectors = self._make_reflectors()
        self.sources.follow(self.reflectors)
        self.configs = ConfigObjects(
            client,
            settings.track_config,
            namespace=settings.watch_namespace,
            changed=self.wiring.config_changed,
            ready=self.wiring.config_ready,
            follow=self._follow,
            random=self._random,
            metrics=metrics,
        )
        self._connect()

    def _make_wiring(self) -> Wiring:
        rollouts = self.rollouts.keys
        return Wiring(
            self.caches,
            rollouts.add,
            self.routings.keys.add,
            wake_urgently=rollouts.add_urgent,
            wake_soon=lambda key: rollouts.add_after(key, SOON_SECONDS),
        )

    def _connect(self) -> None:
        """Changes wake Rollouts from now on."""
        self.wiring.connect()
        self.scripts_map.store.subscribe(lambda old, new: self._scripts_changed())
        for store in (self.caches.notifications, self.caches.cluster_notifications):
            store.subscribe(self._notification_changed)

    def _script_changed(self, owner: Key) -> None:
        """A ConfigMap with scripts of a namespace changed."""
        if owner.name.startswith(OWNER_PREFIX):
            self.notifications.keys.add(Key(owner.namespace, owner.name.removeprefix(OWNER_PREFIX)))
        else:
            self.wiring.kind_availability_changed(owner)

    def _scripts_changed(self) -> None:
        self.wiring.scripts_changed()
        for notification in self.all_notifications():
            self.notifications.keys.add(notification.metadata.key)

    def _notification_changed(self, old: Notification | None, new: Notification | None) -> None:
        """Our own writes of a status change nothing that a pass would see."""
        either = new if new is not None else old
        assert either is not None
        if old is None or new is None or old.metadata.generation != new.metadata.generation:
            self.notifications.keys.add(either.metadata.key)

    def all_notifications(self) -> tuple[Notification, ...]:
        """Those of namespaces, and those of the cluster."""
        caches = self.caches
        return (*caches.notifications.values(), *caches.cluster_notifications.values())

    def known(self) -> bool:
        """Every object that admission reads is in the caches."""
        read = (resources.ROLLOUTS, resources.REPLICA_SETS, resources.CONTROLLER_REVISIONS)
        return self.sources.unavailable(read) is None

    def named(self) -> NamedCaches:
        """The caches in which admission looks up the objects that a Rollout names."""
        return NamedCaches(
            self.caches.deployments,
            self.caches.services,
            self.caches.traffic_routings,
            self.kinds,
            lambda kind: self.sources.unavailable((kind,)) is None,
        )

    def gateways(self, client: KubeClient) -> GatewayReads:
        """Gateway objects, read by their kind, and written by this client."""
        return GatewayReads(client, self.kinds)

    def state(self, now: datetime) -> Seen:
        """The objects from which gauges are computed: copies of the caches; cached objects never change."""
        caches = self.caches
        return Seen(
            now,
            tuple(one for one in caches.rollouts.values() if self._is_ours(one)),
            tuple(one for one in caches.traffic_routings.values() if self._is_ours(one)),
            caches.deployments.values(),
            caches.replica_sets.values(),
            caches.pods.values(),
        )

    def begin(self, namespaces: Namespaces) -> None:
        """Passes over everything in these namespaces, which this process holds from now on.

        Approvals that came while nobody held them are the first.
        """
        for rollout in self.caches.rollouts.values():
            if namespaces(rollout.metadata.namespace):
                self.rollouts.keys.add(rollout.metadata.key, urgent=has_request(rollout.status))
        for routing in self.caches.traffic_routings.values():
            if namespaces(routing.metadata.namespace):
                self.routings.keys.add(routing.metadata.key)

        for notification in self.all_notifications():
            if namespaces(notification.metadata.namespace):
                self.notifications.keys.add(notification.metadata.key)

    async def end(self, namespaces: Namespaces) -> None:
        """No pass over these namespaces any more; they are not held any more."""
        for queue in (self.rollouts, self.routings, self.notifications):
            await queue.keys.drop(lambda key: namespaces(key.namespace))

    def _is_ours(self, one: HasMetadata) -> bool:
        return self._holds(one.metadata.namespace)

    def add_notes(self, health: HealthServer) -> None:
        """`/readyz?verbose` names each cache that is not complete."""
        for reflector in self.reflectors:
            health.add_note(f"cache-{reflector.resource.plural}", _unsynced(reflector))

    def parts(self, changed: Callable[[], None]) -> list[Part]:
        """The watches; `changed` is called when somebody writes to the webhook configurations."""
        return [
            *(Part(f"watch-{r.resource.plural}", r.run) for r in self.reflectors),
            *self._make_published(changed),
            Part("gateway-kinds", self.kinds.run),
            Part("config-objects", self.configs.run),
            Part("own-scripts", self.own_scripts.run),
        ]

    def _make_reflectors(self) -> tuple[Watching, ...]:
        """Everything that is watched from the start; the ledger listens before a store is filled."""
        caches, everywhere = self.caches, self._settings.watch_namespace
        return (
            self._reflect(
                resources.ROLLOUTS, caches.rollouts, Rollout, everywhere, read=read_rollout
            ),
            self._reflect(
                resources.TRAFFIC_ROUTINGS,
                caches.traffic_routings,
                TrafficRouting,
                everywhere,
                read=read_traffic_routing,
            ),
            *self._make_workload_reflectors(caches, everywhere),
            self._reflect(resources.SERVICES, caches.services, Service, everywhere),
            self._reflect(
                resources.ANALYSIS_TEMPLATES,
                caches.analysis_templates,
                AnalysisTemplate,
                everywhere,
            ),
            self._reflect(
                resources.CLUSTER_ANALYSIS_TEMPLATES,
                caches.cluster_analysis_templates,
                AnalysisTemplate,
                None,
            ),
            *self._make_notification_reflectors(caches, everywhere),
            self._reflect(resources.ENDPOINT_SLICES, caches.slices, EndpointSlice, everywhere),
            self._reflect(
                resources.CONFIG_MAPS,
                self.scripts_map.store,
                ConfigMap,
                self._settings.namespace,
                field_selector=f"metadata.name={CONFIGURATION}",
            ),
        )

    def _make_notification_reflectors(
        self, caches: Caches, namespace: str | None
    ) -> Iterator[Watching]:
        """Notifications of namespaces, and those of the cluster."""
        yield self._reflect(resources.NOTIFICATIONS, caches.notifications, Notification, namespace)
        yield self._reflect(
            resources.CLUSTER_NOTIFICATIONS, caches.cluster_notifications, Notification, None
        )

    def _make_workload_reflectors(
        self, caches: Caches, namespace: str | None
    ) -> Iterator[Watching]:
        """Workloads and their pods: a cluster has thousands, so each is reduced to the fields that are read."""
        yield self._reflect(
            resources.DEPLOYMENTS, caches.deployments, Deployment, namespace,
            transform=slimmed_deployment,
        )  # fmt: skip
        yield self._reflect(
            resources.REPLICA_SETS, caches.replica_sets, ReplicaSet, namespace,
            transform=slimmed_replica_set,
        )  # fmt: skip
        yield self._reflect(
            resources.CONTROLLER_REVISIONS, caches.revisions, ControllerRevision, namespace,
            transform=slimmed,
        )  # fmt: skip
        yield self._reflect(resources.PODS, caches.pods, Pod, namespace, transform=slimmed_pod)

    def _make_published(self, changed: Callable[[], None]) -> Iterator[Part]:
        """The published configurations and the Secrets of certificates: others may change, replace or delete them."""
        published = (
            (resources.CRDS, "", f"rollouts.{GROUP}"),
            (resources.MUTATING_WEBHOOKS, "", MUTATING_CONFIGURATION),
            (resources.VALIDATING_WEBHOOKS, "", VALIDATING_CONFIGURATION),
            *((resources.SECRETS, self._settings.namespace, name) for name in self._secrets()),
        )
        for resource, namespace, name in published:
            store: Store[Named] = Store()
            store.subscribe(lambda old, new: changed())
            reflector = Reflector(
                self._client,
                msgspec.structs.replace(resource, metadata_only=True),
                store,
                Named,
                namespace=namespace or None,
                field_selector=f"metadata.name={name}",
                metrics=self._metrics,
                random=self._random,
            )
            yield Part(f"watch-{resource.plural}-{name}", reflector.run)

    def _secrets(self) -> tuple[str, ...]:
        """Names of the Secrets with certificates, if certificates are kept in Secrets."""
        if self._settings.keeps_certificates_in_a_folder:
            return ()
        worker = (WORKER_SECRET, CLIENT_SECRET) if self._settings.lua_worker_tls_dir else ()
        issued = (self._settings.issued_secret,) if self._settings.issued_secret else ()
        return (self._settings.secret_name, *issued, *worker)

    def _reflect(
        self,
        resource: Resource,
        store: Store[V],
        view_type: type[V],
        namespace: str | None,
        field_selector: str = "",
        transform: Callable[[V], V] | None = None,
        read: Callable[[msgspec.Raw], V] | None = None,
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
            read=read,
            notify=self.sources.availability_changed,
            metrics=self._metrics,
            random=self._random,
        )

    def _follow(self, resource_name: str, store: Store[V]) -> Callable[[], None]:
        """Let both ledgers follow the watch events of a store; the returned function ends this."""
        ends = [
            ledger.follow(resource_name, store)
            for ledger in (
                self.rollouts.ledger,
                self.routings.ledger,
                self.notifications.ledger,
            )
        ]

        def end() -> None:
            for one in ends:
                one()

        return end


def _unsynced(source: Watching) -> Callable[[], str | None]:
    def check() -> str | None:
        state = source.availability
        return None if isinstance(state, Synced) else f"{state.reason}: {state.message}"

    return check
