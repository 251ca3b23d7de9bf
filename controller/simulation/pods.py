"""Models of pods: ReplicaSets create them, they become ready and end, Services select them.

Each `sync` is one pass over the present state; time passes only in the run. Must not know Moonshift.
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec
from msgspec import structs

from controller.api.duration import later, of_seconds
from controller.api.meta import ObjectMeta, OwnerReference
from controller.api.names import FREEZE_MIN_READY_SECONDS
from controller.api.networking import (
    SERVICE_NAME_LABEL,
    Endpoint,
    EndpointConditions,
    EndpointSlice,
    Service,
    TargetRef,
)
from controller.api.workloads import (
    ContainerStatus,
    Pod,
    PodStatus,
    ReplicaSet,
    ReplicaSetStatus,
    StatusCondition,
)
from controller.simulation.state import ClusterState, made_at

RUNNING = "simulation/kubelet"
"""Finalizer of every pod: it is gone when its containers have ended."""


class ReplicaSetController:
    """Makes and deletes the pods of ReplicaSets, and counts them."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._made = 0

    def sync(self, replica_set: ReplicaSet) -> None:
        """One pass over one ReplicaSet."""
        alive = self._alive(replica_set)
        missing = replica_set.spec.replicas - len(alive)
        if self._cluster.unmakeable:
            missing = min(missing, self._cluster.quota - len(tuple(self._cluster.pods)))
        for _ in range(missing):
            self._make(replica_set)
        excess = len(alive) - replica_set.spec.replicas
        if excess > 0:
            for pod in sorted(alive, key=_worth)[:excess]:
                self._cluster.pods.delete(pod.metadata.key)
        self._write_status(replica_set)

    def _alive(self, replica_set: ReplicaSet) -> list[Pod]:
        """Its pods without those that are being deleted or have ended."""
        found = self._cluster.pods_of(replica_set)
        return [pod for pod in found if not pod.metadata.deleting and not pod.ended]

    def _make(self, replica_set: ReplicaSet) -> None:
        meta = replica_set.metadata
        self._made += 1
        template = msgspec.json.decode(replica_set.spec.template)
        owner = OwnerReference("apps/v1", "ReplicaSet", meta.name, meta.uid, controller=True)
        self._cluster.pods.put(
            Pod(
                metadata=ObjectMeta(
                    name=f"{meta.name}-{self._made:05}",
                    namespace=meta.namespace,
                    labels=template["metadata"]["labels"],
                    owner_references=(owner,),
                    finalizers=(RUNNING,),
                ),
                status=PodStatus(phase="Pending"),
            )
        )

    def _write_status(self, replica_set: ReplicaSet) -> None:
        alive = self._alive(replica_set)
        since = [pod.ready_since for pod in alive if pod.ready_since is not None]
        wait = of_seconds(replica_set.spec.min_ready_seconds)
        status = ReplicaSetStatus(
            replicas=len(alive),
            ready_replicas=len(since),
            available_replicas=sum(ready + wait <= self._cluster.now for ready in since),
            conditions=self._failures(replica_set, len(alive)),
        )
        self._cluster.replica_sets.put(structs.replace(replica_set, status=status))

    def _failures(self, replica_set: ReplicaSet, alive: int) -> tuple[StatusCondition, ...]:
        why = self._cluster.unmakeable
        if not why or alive >= replica_set.spec.replicas:
            return ()
        before = next(iter(replica_set.status.conditions), None)
        since = before.last_transition_time if before is not None else self._cluster.now
        return (StatusCondition("ReplicaFailure", "True", "FailedCreate", why, since),)


def _worth(pod: Pod) -> tuple[bool, float, int]:
    """Sorts pods by how readily they are given up: unready first, then the latest ready."""
    ready = pod.ready_since
    stamp, number = made_at(pod.metadata)
    return ready is not None, -(ready.timestamp() if ready is not None else stamp), -number


class Kubelet:
    """Starts pods and ends them."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster

    def sync(self, pod: Pod) -> None:
        """One pass over one pod."""
        if pod.metadata.deleting:
            if self._gone_at(pod) <= self._cluster.now:
                self._cluster.pods.remove(pod.metadata.key)
        elif pod.ended:
            return
        elif self._fails(pod):
            waiting = self._waits_for(pod)
            if pod.ready_since is not None or pod.status.container_statuses != waiting:
                self._set_ready(pod, "False", waiting)
        elif pod.ready_since is None and self._ready_at(pod) <= self._cluster.now:
            self._set_ready(pod, "True")

    def due(self, pod: Pod) -> datetime | None:
        """When something happens to this pod by itself."""
        if pod.metadata.deleting:
            return self._gone_at(pod)
        rests = pod.ready_since is not None or pod.ended or self._fails(pod)
        return None if rests else self._ready_at(pod)

    def _fails(self, pod: Pod) -> bool:
        return bool(self._cluster.broken & {pod.metadata.uid, pod.revision})

    def _ready_at(self, pod: Pod) -> datetime:
        assert pod.metadata.creation_timestamp is not None
        return pod.metadata.creation_timestamp + self._cluster.delays.ready

    def _gone_at(self, pod: Pod) -> datetime:
        assert pod.metadata.deletion_timestamp is not None
        return pod.metadata.deletion_timestamp + self._cluster.delays.gone

    def _waits_for(self, pod: Pod) -> tuple[ContainerStatus, ...]:
        known = self._cluster.waiting
        found = known.get(pod.metadata.uid) or known.get(pod.revision)
        return (found,) if found is not None else ()

    def _set_ready(self, pod: Pod, ready: str, waiting: tuple[ContainerStatus, ...] = ()) -> None:
        before = next(iter(pod.status.conditions), None)
        same = before is not None and before.status == ready
        since = before.last_transition_time if before is not None and same else self._cluster.now
        condition = StatusCondition(type="Ready", status=ready, last_transition_time=since)
        status = PodStatus(phase="Running", conditions=(condition,), container_statuses=waiting)
        self._cluster.pods.put(structs.replace(pod, status=status))


def available_at(cluster: ClusterState, replica_set: ReplicaSet) -> datetime | None:
    """When the next pod of a ReplicaSet counts as available; held pods never do."""
    seconds = replica_set.spec.min_ready_seconds
    return next_available(cluster.pods_of(replica_set), seconds, cluster.now)


def next_available(pods: Iterable[Pod], seconds: int, now: datetime) -> datetime | None:
    """When the next of these pods counts as available."""
    if not 0 < seconds < FREEZE_MIN_READY_SECONDS:
        return None
    since = (pod.ready_since for pod in pods)
    due = (later(ready, of_seconds(seconds)) for ready in since if ready is not None)
    return min((instant for instant in due if instant > now), default=None)


class EndpointController:
    """Keeps one EndpointSlice per Service."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster

    def sync(self) -> None:
        """One pass over all Services."""
        for service in self._cluster.services:
            self._cluster.slices.put(self._slice(service))
        for part in self._cluster.slices:
            if all(part.service != service.metadata.name for service in self._cluster.services):
                self._cluster.slices.remove(part.metadata.key)

    def _slice(self, service: Service) -> EndpointSlice:
        meta = service.metadata
        name = f"{meta.name}-slice"
        before = self._cluster.slices.get(structs.replace(meta, name=name).key)
        kept = (
            before.metadata
            if before is not None
            else ObjectMeta(
                name=name, namespace=meta.namespace, labels={SERVICE_NAME_LABEL: meta.name}
            )
        )
        return EndpointSlice(
            metadata=kept,
            endpoints=tuple(_endpoint(pod) for pod in self._cluster.selected(service)),
        )


def _endpoint(pod: Pod) -> Endpoint:
    meta = pod.metadata
    return Endpoint(
        conditions=EndpointConditions(ready=pod.ready_since is not None, terminating=meta.deleting),
        target_ref=TargetRef(kind="Pod", name=meta.name, uid=meta.uid),
    )
