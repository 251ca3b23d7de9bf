"""The state of a simulated cluster, and its clock.

Invariant: the in-memory API server has the objects. Here are only the circumstances: nodes, delays, failures, refusals.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from typing import TypeVar

import msgspec

from controller.api.analysis import AnalysisTemplate
from controller.api.autoscaling import Autoscaler
from controller.api.config import ConfigKind, ConfigObject
from controller.api.decoding import reader_of
from controller.api.history import RolloutHistory
from controller.api.meta import ObjectMeta
from controller.api.networking import EndpointSlice, Service
from controller.api.podsets import ControllerRevision, PodSet, slimmed
from controller.api.rollout import Rollout
from controller.api.trafficrouting import TrafficRouting
from controller.api.workloads import (
    ContainerStatus,
    Deployment,
    Pod,
    ReplicaSet,
    safe_hash,
    slimmed_pod,
    template_hash,
)
from controller.domain.decision import Refusal
from controller.kube import resources
from controller.kube.resources import Resource, known_workload
from controller.kube.store import HasMetadata, Store
from controller.reconcilers.caches import OWNER, Caches
from controller.simulation.api_server.server import Admission, MemoryApi
from controller.simulation.typed_views import Objects, Projections

REVISION = "deployment.kubernetes.io/revision"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAX = "deployment.kubernetes.io/max-replicas"
POD_SETS = (
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps.kruise.io/v1alpha1", "CloneSet"),
    ("apps.kruise.io/v1alpha1", "DaemonSet"),
    ("apps.kruise.io/v1beta1", "StatefulSet"),
)

V = TypeVar("V", bound=HasMetadata)


class Delays(msgspec.Struct, frozen=True):
    """How long pods take: to become ready, and to be gone once their deletion was asked for."""

    ready: timedelta = timedelta(seconds=2)
    gone: timedelta = timedelta(seconds=1)


@cache
def resource_of_kind(api_version: str, kind: str) -> Resource:
    """How a kind is addressed: every kind is served, and lives in namespaces unless the product knows better."""
    known = known_workload(api_version, kind)
    if known is not None:
        return known
    if (api_version, kind) == (resources.HPAS.api_version, resources.HPAS.kind):
        return resources.HPAS
    group, _, version = api_version.rpartition("/")
    return Resource(group, version, f"{kind.lower()}s", kind)


class Environment:
    """State that no object contains: nodes, delays, injected faults and refusals."""

    def __init__(self, delays: Delays | None = None) -> None:
        self.delays = delays or Delays()
        self.nodes = 5
        """How many nodes there are for DaemonSets."""
        self.histories_kept = 0
        """How many records of releases are kept of a Rollout."""
        self.broken: set[str] = set()
        """UIDs of pods that fail, and revisions all of whose pods do."""
        self.waiting: dict[str, ContainerStatus] = {}
        """The waiting reason of containers, by UID or revision of broken pods."""
        self.unmakeable = ""
        """Why no pod can be created; empty when they can."""
        self.quota = 0
        """How many pods there may be while more cannot be created."""
        self.behind: set[str] = set()
        """Kinds whose own controllers do not run at present, because they are busy."""
        self.refusals: dict[str, Refusal] = {}
        """The answer of an effect instead of acting, by name of the action."""


class ClusterState(Environment):
    """The API server, and typed views of its objects."""

    def __init__(
        self, now: datetime, delays: Delays | None = None, admission: Admission | None = None
    ) -> None:
        super().__init__(delays)
        self.now = now
        self.server = MemoryApi(lambda: self.now, admission=admission)
        self.projections = Projections(self.server.storage)
        self.caches = Caches()
        caches = self.caches
        self.rollouts = self._kept(resources.ROLLOUTS, caches.rollouts, Rollout)
        self.traffic_routings = self._kept(
            resources.TRAFFIC_ROUTINGS, caches.traffic_routings, TrafficRouting
        )
        self.deployments = self._kept(resources.DEPLOYMENTS, caches.deployments, Deployment)
        self.replica_sets = self._kept(resources.REPLICA_SETS, caches.replica_sets, ReplicaSet)
        self.revisions = self._kept(
            resources.CONTROLLER_REVISIONS, caches.revisions, ControllerRevision, slimmed
        )
        self.pods = self._kept(resources.PODS, caches.pods, Pod, slimmed_pod)
        self.services = self._kept(resources.SERVICES, caches.services, Service)
        self.slices = self._kept(resources.ENDPOINT_SLICES, caches.slices, EndpointSlice)
        self.autoscalers = self._kept(resources.HPAS, Store[Autoscaler](), Autoscaler)
        self.analysis_templates = self._kept(
            resources.ANALYSIS_TEMPLATES, caches.analysis_templates, AnalysisTemplate
        )
        self.histories = self._kept(
            resources.ROLLOUT_HISTORIES, Store[RolloutHistory](), RolloutHistory
        )
        self.configs = {kind: self._kept_config(kind) for kind in ConfigKind}
        self._pod_sets: Store[PodSet] = Store({OWNER: lambda found: (found.metadata.uid,)})
        self.pod_sets = Objects(
            self.server, self._pod_sets, lambda s: resource_of_kind(s.api_version, s.kind)
        )
        for named in POD_SETS:
            self.keep_pod_sets(*named)
        self._hashes: dict[bytes, str] = {}

    def _kept_config(self, kind: ConfigKind) -> "Objects[ConfigObject]":
        secret = kind is ConfigKind.SECRET
        resource = resources.SECRETS if secret else resources.CONFIG_MAPS
        return self._kept(resource, Store[ConfigObject](), ConfigObject)

    def _kept(
        self,
        resource: Resource,
        store: Store[V],
        view: type[V],
        transform: Callable[[V], V] | None = None,
    ) -> Objects[V]:
        """Objects of one kind, read from a store that is kept in step."""
        decode = reader_of(view)
        read = decode if transform is None else lambda raw: transform(decode(raw))
        self.projections.follow((resource.group, resource.plural), store, read)
        return Objects(self.server, store, lambda _: resource)

    def keep_pod_sets(self, api_version: str, kind: str) -> None:
        """Sets of pods of this kind are seen, too."""
        resource = resource_of_kind(api_version, kind)
        decode = reader_of(PodSet)
        self.projections.follow((resource.group, resource.plural), self._pod_sets, decode)

    @property
    def version(self) -> int:
        """Grows with every change of an object."""
        return self.server.storage.version

    def set_clock(self, now: datetime) -> None:
        """Time moves forward."""
        self.now = max(now, self.now)

    def hash_of(self, template: msgspec.Raw) -> str:
        """Identity of a pod template."""
        raw = bytes(template)
        if raw not in self._hashes:
            self._hashes[raw] = template_hash(raw)
        return self._hashes[raw]

    def revision_of(self, template: msgspec.Raw) -> str:
        """pod-template-hash of a template: the same for every Deployment that has it."""
        return safe_hash(self.hash_of(template).encode(), 8)

    # --- owners --------------------------------------------------------------------

    def replica_sets_of(self, deployment: Deployment) -> tuple[ReplicaSet, ...]:
        """ReplicaSets of a Deployment, oldest first."""
        return tuple(
            sorted(self.caches.replica_sets.index(OWNER, deployment.metadata.uid), key=age)
        )

    def revisions_of(self, pod_set: PodSet) -> tuple[ControllerRevision, ...]:
        """Revisions of a set, oldest first."""
        owned = self.caches.revisions.index(OWNER, pod_set.metadata.uid)
        return tuple(sorted(owned, key=lambda entry: entry.revision))

    def pods_of(self, owner: ReplicaSet | PodSet) -> tuple[Pod, ...]:
        """Pods of a ReplicaSet or set, terminating ones included, in the order they were made."""
        return self.caches.pods.index(OWNER, owner.metadata.uid)

    def selected(self, service: Service) -> tuple[Pod, ...]:
        """Pods that a Service selects, ready or not."""
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
