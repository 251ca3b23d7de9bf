"""Models of the controllers of StatefulSets, DaemonSets, CloneSets and Advanced DaemonSets, as far as releases need
them.

They have revisions and their numbers, partitions, ordinals, OnDelete, maxUnavailable, the revision of a replaced pod,
and the end of an update. One `sync` is one pass of the real controller, so that ours can run in between. Must not know
Moonshift.
"""

from datetime import datetime

import msgspec
from msgspec import structs

from controller.api.jsontree import JsonObject
from controller.api.meta import Key, ObjectMeta, OwnerReference
from controller.api.names import CONTROLLER_REVISION_HASH, POD_TEMPLATE_HASH
from controller.api.podsets import ControllerRevision, PodSet, PodSetStatus, UpdateStrategy
from controller.api.quantity import IntOrPercent, scaled_up
from controller.api.workload_kinds import KindName, WorkloadKind, workload_kind
from controller.api.workloads import Pod, PodStatus
from controller.kube.resources import CONTROLLER_REVISIONS, CORE_EVENTS
from controller.simulation.clonesets import Clones
from controller.simulation.pods import RUNNING, next_available
from controller.simulation.state import ClusterState


def kind_of(pod_set: PodSet) -> WorkloadKind:
    """How a set is moved."""
    name = KindName(pod_set.api_version, pod_set.kind)
    kind = workload_kind(name.group, name.kind, pod_set.metadata.labels)
    assert kind is not None
    return kind


class PodSetController:
    """Keeps the pods of sets."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._made = 0

    def sync(self, pod_set: PodSet) -> None:
        """One pass over one set."""
        round_ = _Round(self._cluster, pod_set, self._revision(pod_set))
        match round_.kind:
            case WorkloadKind.STATEFUL_SET:
                self._stateful(round_)
            case WorkloadKind.CLONE_SET:
                self._clones(round_)
            case _:
                self._daemons(round_)
        round_.write_status()

    def due(self, pod_set: PodSet) -> datetime | None:
        """When the next pod of a set counts as available."""
        seconds = pod_set.spec.min_ready_seconds or 0
        return next_available(self._cluster.pods_of(pod_set), seconds, self._cluster.now)

    def _revision(self, pod_set: PodSet) -> str:
        """Hash of the present template's revision, which is made, or made the newest, when it is not."""
        owned = self._cluster.revisions_of(pod_set)
        hashed = self._cluster.hash_of(pod_set.spec.template)
        revision = self._cluster.revision_of(pod_set.spec.template)
        highest = max((entry.revision for entry in owned), default=0)
        found = next((entry for entry in owned if entry.template_hash == hashed), None)
        if found is None:
            meta = pod_set.metadata
            owner = OwnerReference(
                pod_set.api_version, pod_set.kind, meta.name, meta.uid, controller=True
            )
            labels = {CONTROLLER_REVISION_HASH: revision}
            head = ObjectMeta(
                f"{meta.name}-{revision}",
                meta.namespace,
                labels=labels,
                owner_references=(owner,),
            )
            made = self._cluster.revisions.written(ControllerRevision(head, revision=highest + 1))
            template = {**msgspec.json.decode(pod_set.spec.template), "$patch": "replace"}
            made["data"] = {"spec": {"template": template}}
            self._cluster.revisions.store(made, CONTROLLER_REVISIONS)
        elif found.revision < highest:
            whole = self._cluster.revisions.raw(found.metadata.key)
            self._cluster.revisions.store({**whole, "revision": highest + 1}, CONTROLLER_REVISIONS)
        return revision

    # --- StatefulSet ----------------------------------------------------------------------------

    def _stateful(self, round_: "_Round") -> None:
        """In order: every pod is there and ready before the next one is made, or an old one replaced."""
        by_ordinal = {int(pod.metadata.name.rpartition("-")[2]): pod for pod in round_.pods}
        replicas, partition = round_.replicas, scaled_up(round_.partition, round_.replicas)
        for ordinal in range(replicas):
            pod = by_ordinal.get(ordinal)
            if pod is None:
                old = ordinal < partition and not round_.by_hand
                self._make(round_, str(ordinal), round_.current if old else round_.update)
                return
            if pod.ready_since is None:
                return
        for ordinal in sorted(by_ordinal, reverse=True):
            if ordinal >= replicas:
                self._cluster.pods.delete(by_ordinal[ordinal].metadata.key)
                return
        for ordinal in range(replicas - 1, partition - 1, -1):
            if by_ordinal[ordinal].revision != round_.label(round_.update) and not round_.by_hand:
                self._cluster.pods.delete(by_ordinal[ordinal].metadata.key)
                return

    # --- CloneSet -------------------------------------------------------------------------------

    def _clones(self, round_: "_Round") -> None:
        update = round_.label(round_.update)
        moves = Clones(round_.pod_set, round_.alive, update, self._cluster.now).moves()
        for revision in (*[round_.current] * moves.old, *[round_.update] * moves.new):
            self._made += 1
            self._make(round_, f"{self._made:05}", revision)
        for pod in moves.deleted:
            self._cluster.pods.delete(pod.metadata.key)

    # --- DaemonSets -----------------------------------------------------------------------------

    def _daemons(self, round_: "_Round") -> None:
        for _ in range(self._cluster.nodes - len(round_.pods)):
            self._made += 1
            self._make(round_, f"{self._made:05}", round_.update)
        kept = scaled_up(round_.partition, self._cluster.nodes)
        updated = sum(pod.revision == round_.label(round_.update) for pod in round_.alive)
        if not round_.by_hand:
            bare = self._cluster.nodes - len(round_.alive)
            self._replace(round_, self._cluster.nodes - kept - updated - bare)

    def _replace(self, round_: "_Round", most: int) -> None:
        """Delete this number of old pods, unready ones first, within maxUnavailable."""
        old = [pod for pod in round_.alive if pod.revision != round_.label(round_.update)]
        ready = sum(pod.ready_since is not None for pod in round_.alive)
        room = ready - (round_.size - max(1, scaled_up(round_.limit, round_.size)))
        for pod in sorted(old, key=lambda p: (p.ready_since is not None, p.metadata.name)):
            if most <= 0:
                return
            if pod.ready_since is not None:
                if room <= 0:
                    return
                room -= 1
            most -= 1
            self._cluster.pods.delete(pod.metadata.key)

    def _make(self, round_: "_Round", suffix: str, revision: str) -> None:
        pod_set = round_.pod_set
        if self._cluster.unmakeable:
            self._say_why(pod_set)
            return
        meta = pod_set.metadata
        template = msgspec.json.decode(pod_set.spec.template)
        owner = OwnerReference(
            pod_set.api_version, pod_set.kind, meta.name, meta.uid, controller=True
        )
        labels = {**template["metadata"]["labels"], CONTROLLER_REVISION_HASH: revision}
        if round_.kind is WorkloadKind.CLONE_SET:
            labels[POD_TEMPLATE_HASH] = revision
            labels[CONTROLLER_REVISION_HASH] = f"{meta.name}-{revision}"
        elif round_.kind is WorkloadKind.STATEFUL_SET:
            labels[CONTROLLER_REVISION_HASH] = f"{meta.name}-{revision}"
        self._cluster.pods.put(
            Pod(
                metadata=ObjectMeta(
                    name=f"{meta.name}-{suffix}",
                    namespace=meta.namespace,
                    labels=labels,
                    owner_references=(owner,),
                    finalizers=(RUNNING,),
                ),
                status=PodStatus(phase="Pending"),
            )
        )

    def _say_why(self, pod_set: PodSet) -> None:
        """An Event on the set, which is all that its controller says of pods that cannot be made."""
        meta, storage = pod_set.metadata, self._cluster.server.storage
        key = Key(meta.namespace, f"{meta.name}.failed-create")
        place = (CORE_EVENTS.group, CORE_EVENTS.plural)
        event: JsonObject = {
            "metadata": {"name": key.name, "namespace": key.namespace},
            "involvedObject": {"uid": meta.uid, "kind": pod_set.kind, "name": meta.name},
            "type": "Warning",
            "reason": "FailedCreate",
            "message": self._cluster.unmakeable,
        }
        before = storage.get(place, key)
        if before is None or before["message"] != event["message"]:
            time = f"{self._cluster.now:%Y-%m-%dT%H:%M:%SZ}"
            storage.put(place, key, {**event, "firstTimestamp": time, "lastTimestamp": time})


class _Round:
    """One pass's view of a set: its size, its strategy, its pods, and the hashes of its two revisions."""

    def __init__(self, cluster: ClusterState, pod_set: PodSet, update: str) -> None:
        self._cluster = cluster
        self.pod_set = pod_set
        self.kind = kind_of(pod_set)
        self.update = update
        revision = pod_set.status.current_revision.rpartition("-")[2]
        self.current = revision or update
        self.replicas = 1 if pod_set.spec.replicas is None else pod_set.spec.replicas
        self.size = self.replicas if self.kind.has_replicas else cluster.nodes
        self._strategy = msgspec.json.decode(pod_set.spec.update_strategy, type=UpdateStrategy)
        self.pods = cluster.pods_of(pod_set)

    @property
    def alive(self) -> list[Pod]:
        return [pod for pod in self.pods if not pod.metadata.deleting]

    @property
    def by_hand(self) -> bool:
        return self._strategy.type == "OnDelete"

    @property
    def partition(self) -> IntOrPercent:
        rolling = self._strategy.rolling_update
        inner = rolling.partition if rolling is not None else None
        return self._strategy.partition or inner or 0

    @property
    def limit(self) -> IntOrPercent:
        rolling = self._strategy.rolling_update
        inner = rolling.max_unavailable if rolling is not None else None
        return self._strategy.max_unavailable or inner or 1

    def label(self, revision: str) -> str:
        """The revision labels of pods."""
        if self.kind is WorkloadKind.STATEFUL_SET:
            return f"{self.pod_set.metadata.name}-{revision}"
        return revision

    def write_status(self) -> None:
        """Counters and revisions; an update of all pods that are all ready is complete."""
        there = self._cluster.pods_of(self.pod_set)
        pods = [p for p in there if not p.metadata.deleting]
        updated = sum(pod.revision == self.label(self.update) for pod in pods)
        ready = sum(pod.ready_since is not None for pod in pods)
        name = self.pod_set.metadata.name
        complete = updated == ready == self.size or not there
        if self.kind is WorkloadKind.CLONE_SET:
            complete = updated == len(pods) == self.size
        if self.kind is WorkloadKind.STATEFUL_SET and self.by_hand:
            complete = False
        daemons = not self.kind.has_replicas
        status = PodSetStatus(
            observed_generation=self.pod_set.metadata.generation,
            replicas=len(pods),
            updated_replicas=updated,
            updated_ready_replicas=sum(
                pod.ready_since is not None and pod.revision == self.label(self.update)
                for pod in pods
            ),
            ready_replicas=ready,
            current_revision=""
            if daemons
            else f"{name}-{self.update if complete else self.current}",
            update_revision="" if daemons else f"{name}-{self.update}",
            desired_number_scheduled=self._cluster.nodes if daemons else 0,
            daemon_set_hash=self.update if self.kind is WorkloadKind.ADVANCED_DAEMON_SET else "",
        )
        self._cluster.pod_sets.put(structs.replace(self.pod_set, status=status))
