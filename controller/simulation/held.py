"""What the effects do to ReplicaSets, and to a workload that lost its hold, done to the simulated cluster.

Invariant: the same preconditions as the real effects; broken ones are raised as `Conflict`.
"""

from typing import assert_never

import msgspec
from msgspec import structs

from controller.api import names
from controller.api.podsets import PodSet
from controller.api.workload_kinds import DEPLOYMENT, WorkloadKind
from controller.api.workloads import Deployment
from controller.domain.admission.again import held_again, lost_by
from controller.domain.decision import (
    DeleteReplicaSet,
    Done,
    HoldReplicaSet,
    HoldWorkload,
    ScaleReplicaSet,
    SetCurrentRevision,
)
from controller.errors import Conflict
from controller.simulation.cluster import Cluster
from controller.simulation.people import raw_of
from controller.simulation.pods import terminate
from controller.simulation.podsets import kind_of


def write_replica_set(
    cluster: Cluster, action: ScaleReplicaSet | DeleteReplicaSet | HoldReplicaSet
) -> Done:
    """Size a ReplicaSet, delete it with its pods, or keep its pods from counting as available."""
    found = cluster.replica_sets.get(action.replica_set)
    if isinstance(action, DeleteReplicaSet):
        if found is not None and found.metadata.uid == action.uid:
            for pod in cluster.pods_of(found):
                terminate(cluster, pod)
            cluster.replica_sets.remove(action.replica_set)
        return Done(wrote=True)
    if found is None or found.metadata.uid != action.uid:
        raise Conflict("the ReplicaSet is another one", status=409)
    match action:
        case ScaleReplicaSet(replicas=replicas):
            spec = structs.replace(found.spec, replicas=replicas)
        case HoldReplicaSet(uid=uid):
            cluster.min_ready[uid] = names.HOLD_MIN_READY_SECONDS
            spec = structs.replace(found.spec, min_ready_seconds=names.HOLD_MIN_READY_SECONDS)
        case _:
            assert_never(action)
    cluster.replica_sets.put(structs.replace(found, spec=spec))
    return Done(wrote=True)


def name_current(cluster: Cluster, action: SetCurrentRevision) -> Done:
    """Write which revision of a set is its current one."""
    found = cluster.pod_sets[action.workload]
    if found.metadata.uid != action.uid:
        raise Conflict("the set is another one", status=409)
    status = structs.replace(found.status, current_revision=action.revision)
    cluster.pod_sets.put(structs.replace(found, status=status))
    return Done(wrote=True)


def hold_workload(cluster: Cluster, action: HoldWorkload) -> Done:
    """Label, marks, hold and latch, in one write."""
    lost = lost_by(action)
    found: Deployment | PodSet = (
        cluster.deployments[action.workload]
        if action.kind == DEPLOYMENT
        else cluster.pod_sets[action.workload]
    )
    if found.metadata.generation != action.generation:
        raise Conflict("the workload has changed", status=409)
    if isinstance(found, Deployment):
        again = msgspec.json.encode(held_again(raw_of(found), WorkloadKind.DEPLOYMENT, lost))
        cluster.deployments.put(msgspec.json.decode(again, type=Deployment))
    else:
        again = msgspec.json.encode(held_again(raw_of(found), kind_of(found), lost))
        cluster.pod_sets.put(msgspec.json.decode(again, type=PodSet))
    return Done(wrote=True)
