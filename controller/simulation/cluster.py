"""The objects of a simulated cluster.

Invariant: the frozen views the product reads are the truth here; what the views leave out and controllers need
(a ReplicaSet's minReadySeconds, what was injected) is kept beside them.
"""

from datetime import datetime, timedelta

import msgspec
from msgspec import structs

from controller.api.autoscaling import Autoscaler
from controller.api.history import RolloutHistory
from controller.api.meta import Key, ObjectMeta
from controller.api.networking import EndpointSlice, Service
from controller.api.podsets import ControllerRevision, PodSet
from controller.api.rollout import Rollout
from controller.api.trafficrouting import TrafficRouting
from controller.api.workloads import (
    ContainerStatus,
    Deployment,
    Pod,
    ReplicaSet,
    safe_hash,
    template_hash,
)
from controller.domain.decision import Reference, Refusal, RoutePlan
from controller.simulation.config_objects import ConfigShelves
from controller.simulation.shelf import Shelf, Versions

REVISION = "deployment.kubernetes.io/revision"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAX = "deployment.kubernetes.io/max-replicas"


class Route(msgspec.Struct, frozen=True):
    """A gateway object: its bytes before the release, and the plan it follows (None: the original)."""

    raw: msgspec.Raw = msgspec.Raw(b"{}")
    plan: RoutePlan | None = None
    touched: bool = False
    depth: int = 0
    """How far below an object that nothing points at."""
    announces: bool = False
    """Its kind's proxies learn of Services from it."""
    unreadable: str = ""
    """Reason why it cannot be read; empty when it can."""


class Delays(msgspec.Struct, frozen=True):
    """How long pods take: to become ready, and to be gone once their deletion was asked for."""

    ready: timedelta = timedelta(seconds=2)
    gone: timedelta = timedelta(seconds=1)


class Cluster:
    """Everything there is, and what time it is."""

    def __init__(self, now: datetime, delays: Delays | None = None) -> None:
        self.versions = Versions(now)
        self.delays = delays or Delays()
        self.rollouts: Shelf[Rollout] = Shelf(self.versions, lambda rollout: rollout.spec)
        self.traffic_routings: Shelf[TrafficRouting] = Shelf(
            self.versions, lambda routing: routing.spec
        )
        self.deployments: Shelf[Deployment] = Shelf(self.versions, lambda found: found.spec)
        self.replica_sets: Shelf[ReplicaSet] = Shelf(self.versions, lambda found: found.spec)
        self.pod_sets: Shelf[PodSet] = Shelf(self.versions, lambda found: found.spec)
        self.revisions: Shelf[ControllerRevision] = Shelf(self.versions, lambda r: r.revision)
        self.autoscalers: Shelf[Autoscaler] = Shelf(self.versions, lambda found: found.spec)
        self.configs = ConfigShelves(self.versions)
        self.nodes = 5
        """How many nodes there are for DaemonSets."""
        self.pods: Shelf[Pod] = Shelf(self.versions, lambda pod: pod.metadata.name)
        self.services: Shelf[Service] = Shelf(self.versions, lambda service: service.spec)
        self.slices: Shelf[EndpointSlice] = Shelf(self.versions, lambda part: part.endpoints)
        self.min_ready: dict[str, int] = {}
        """minReadySeconds by UID of the ReplicaSet."""
        self.broken: set[str] = set()
        self.unmakeable = ""
        """Why no pod can be created; empty when they can."""
        self.waiting: dict[str, ContainerStatus] = {}
        """By UID or revision of broken pods: what their container waits for."""
        self.refusals: dict[str, Refusal] = {}
        """By name of an action: what its effect answers instead of doing anything."""

        self.templates: dict[Key, msgspec.Raw] = {}
        """What each ControllerRevision keeps."""
        self.histories: dict[str, RolloutHistory] = {}
        """By name: records of releases; kept of a Rollout are as many as `histories_kept`."""
        self.histories_kept = 0
        self._routes: dict[tuple[str, str, str], Route] = {}
        self._hashes: dict[bytes, str] = {}

    @property
    def now(self) -> datetime:
        """The virtual clock."""
        return self.versions.now

    def set_clock(self, now: datetime) -> None:
        """Time moves forward."""
        self.versions.now = max(now, self.versions.now)

    def hash_of(self, template: msgspec.Raw) -> str:
        """Identity of a pod template."""
        raw = bytes(template)
        if raw not in self._hashes:
            self._hashes[raw] = template_hash(raw)
        return self._hashes[raw]

    def revision_of(self, template: msgspec.Raw) -> str:
        """pod-template-hash of a template: the same for every Deployment that has it."""
        return safe_hash(self.hash_of(template).encode(), 8)

    # --- gateway objects ------------------------------------------------------------------------

    def route(self, namespace: str, reference: Reference) -> Route | None:
        """A gateway object, or None."""
        return self._routes.get((namespace, reference.kind, reference.name))

    def put_route(self, namespace: str, kind: str, name: str, route: Route) -> None:
        """Write a gateway object."""
        place = (namespace, kind, name)
        if self._routes.get(place) != route:
            self._routes[place] = route
            self.versions.next()

    def remove_route(self, namespace: str, kind: str, name: str) -> None:
        """A gateway object is gone."""
        if self._routes.pop((namespace, kind, name), None) is not None:
            self.versions.next()

    def touch_routes(self) -> None:
        """Somebody overwrites what we wrote into every gateway object in use."""
        for (namespace, kind, name), route in tuple(self._routes.items()):
            if route.plan is not None:
                self.put_route(namespace, kind, name, structs.replace(route, touched=True))

    @property
    def routes(self) -> tuple[Route, ...]:
        """All gateway objects."""
        return tuple(self._routes.values())

    # --- who belongs to whom --------------------------------------------------------------------

    def replica_sets_of(self, deployment: Deployment) -> tuple[ReplicaSet, ...]:
        """ReplicaSets of a Deployment, oldest first."""
        uid = deployment.metadata.uid
        owned = (rs for rs in self.replica_sets if rs.metadata.controller_uid == uid)
        return tuple(sorted(owned, key=age))

    def revisions_of(self, pod_set: PodSet) -> tuple[ControllerRevision, ...]:
        """Revisions of a set, oldest first."""
        uid = pod_set.metadata.uid
        owned = (entry for entry in self.revisions if entry.metadata.controller_uid == uid)
        return tuple(sorted(owned, key=lambda entry: entry.revision))

    def pods_of_set(self, pod_set: PodSet) -> tuple[Pod, ...]:
        """Pods of a set, terminating ones included."""
        uid = pod_set.metadata.uid
        return tuple(pod for pod in self.pods if pod.metadata.controller_uid == uid)

    def pods_of(self, replica_set: ReplicaSet) -> tuple[Pod, ...]:
        """Pods of a ReplicaSet, terminating ones included."""
        uid = replica_set.metadata.uid
        return tuple(pod for pod in self.pods if pod.metadata.controller_uid == uid)

    def selected(self, service: Service) -> tuple[Pod, ...]:
        """Pods a Service leads to, ready or not."""
        wanted = service.spec.selector
        if not wanted:
            return ()
        return tuple(
            pod
            for pod in self.pods
            if pod.metadata.namespace == service.metadata.namespace
            and wanted.items() <= pod.metadata.labels.items()
        )


def age(replica_set: ReplicaSet) -> tuple[int, str]:
    """Sorts ReplicaSets by their revision number."""
    return int(replica_set.metadata.annotations.get(REVISION, "0")), replica_set.metadata.name


def made_at(meta: ObjectMeta) -> tuple[float, int]:
    """Sorts by creation, in the order objects were made."""
    assert meta.creation_timestamp is not None
    return meta.creation_timestamp.timestamp(), int(meta.uid.rpartition("-")[2])
