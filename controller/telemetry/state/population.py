"""Counts the pods of each revision of all workloads, in one pass over the cache of pods.

Why one pass: look-ups for each of ten thousand Rollouts would visit every index. Invariant: a pod belongs to its owner
reference; a pod of a ReplicaSet to the Deployment that owns the ReplicaSet; a pod that
is being deleted is not counted, as in `status.replicas` of workloads.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from controller.api import names
from controller.api.meta import ObjectMeta
from controller.api.rollout import Rollout
from controller.api.workloads import Deployment, Pod, ReplicaSet

Owner = tuple[str, str, str]
"""Namespace, kind and name."""


@dataclass(slots=True)
class Pods:
    """Pods of one owner by revision."""

    every: Counter[str] = field(default_factory=Counter)
    ready: Counter[str] = field(default_factory=Counter)


Population = Mapping[Owner, Pods]


def population(pods: Iterable[Pod], replica_sets: Iterable[ReplicaSet]) -> dict[Owner, Pods]:
    """The pods of every workload."""
    above = {rs.metadata.uid: _owner(rs.metadata) for rs in replica_sets}
    found: dict[Owner, Pods] = {}
    for pod in pods:
        if pod.metadata.deleting or pod.ended:
            continue
        owner = above.get(pod.metadata.controller_uid) or _owner(pod.metadata)
        if owner is None:
            continue
        counted = found.setdefault(owner, Pods())
        counted.every[pod.revision] += 1
        if pod.ready_since is not None:
            counted.ready[pod.revision] += 1
    return found


def _owner(meta: ObjectMeta) -> Owner | None:
    owner = meta.controller
    return None if owner is None else (meta.namespace, owner.kind, owner.name)


def extra_deployments(deployments: Iterable[Deployment]) -> dict[str, list[Owner]]:
    """By UID of a Rollout: the extra Deployments that were made for it."""
    found: dict[str, list[Owner]] = {}
    for one in deployments:
        uid = one.metadata.labels.get(names.ROLLOUT_UID)
        if uid:
            found.setdefault(uid, []).append(
                (one.metadata.namespace, "Deployment", one.metadata.name)
            )
    return found


def workload_of(rollout: Rollout) -> Owner:
    """The workload that a Rollout governs."""
    ref = rollout.spec.workload_ref
    return rollout.metadata.namespace, ref.kind, ref.name
