"""Workloads: the hold and its knobs, the way back, the extra Deployment, abandoned ReplicaSets.

Invariant: a write to a workload tests the generation that was looked at and the latch it takes off, so a stale or late
writer changes nothing; it never touches a template.
"""

from controller.api import names
from controller.api.rollout import OwnersValues
from controller.domain.decision import (
    DeleteCanaryDeployment,
    DeleteReplicaSet,
    Done,
    EnsureCanaryDeployment,
    HoldReplicaSet,
    LabelWorkload,
    PaceDeployment,
    ReleaseDeployment,
    ScaleCanaryDeployment,
    ScaleReplicaSet,
)
from controller.effects.writes import Operation, Writes, generation_is, pointer
from controller.kube.resources import DEPLOYMENTS, REPLICA_SETS, Resource


async def label_workload(writes: Writes, resource: Resource, action: LabelWorkload) -> Done:
    """Put on the label that admission selects workloads by."""
    labels = {names.WORKLOAD_TYPE: action.workload_type}
    await writes.merge(resource, action.workload, {"metadata": {"labels": labels}})
    return Done(wrote=True)


async def pace(writes: Writes, action: PaceDeployment) -> Done:
    """Write the knobs, and the hold with them: a hand edit of it is corrected by the same write."""
    operations = [generation_is(action.generation)]
    if action.latch:
        latch = pointer("metadata", "annotations", names.LATCH)
        operations += [
            {"op": "test", "path": latch, "value": action.latch},
            {"op": "remove", "path": latch},
            _set("paused", False),
        ]
    rolling = {"maxSurge": action.max_surge, "maxUnavailable": action.max_unavailable}
    operations += [
        _set("strategy", {"type": "RollingUpdate", "rollingUpdate": rolling}),
        _set("minReadySeconds", action.min_ready_seconds),
        _set("progressDeadlineSeconds", action.progress_deadline_seconds),
    ]
    await writes.patch(DEPLOYMENTS, action.workload, operations)
    return Done(wrote=True)


async def release(writes: Writes, action: ReleaseDeployment) -> Done:
    """Give the owner's own values back, and take our annotations and labels off, in one write."""
    operations = [generation_is(action.generation)]
    if action.owners is not None:
        operations += _owners_operations(action.owners)
    await writes.release(
        DEPLOYMENTS, action.workload, operations, action.annotations, action.labels
    )
    return Done(wrote=True)


def _owners_operations(owners: OwnersValues) -> list[Operation]:
    operations = [
        _set("minReadySeconds", owners.min_ready_seconds),
        _set("paused", owners.paused),
    ]
    if owners.strategy is not None:
        operations.append(_set("strategy", owners.strategy))
    # The API server's own default; an absent field cannot be removed safely by a patch.
    deadline = owners.progress_deadline_seconds
    operations.append(_set("progressDeadlineSeconds", 600 if deadline is None else deadline))
    return operations


def _set(field: str, value: object) -> Operation:
    return {"op": "add", "path": f"/spec/{field}", "value": value}


async def ensure_canary(writes: Writes, action: EnsureCanaryDeployment) -> Done:
    """Make the extra Deployment; its name follows from the release, so an existing one is this one."""
    made = await writes.create(DEPLOYMENTS, action.deployment, bytes(action.body))
    return Done(wrote=made)


async def scale_canary(writes: Writes, action: ScaleCanaryDeployment) -> Done:
    """Set the size of the extra Deployment."""
    operations: list[Operation] = [
        {"op": "test", "path": "/metadata/uid", "value": action.uid},
        _set("replicas", action.replicas),
    ]
    await writes.patch(DEPLOYMENTS, action.deployment, operations)
    return Done(wrote=True)


async def delete_canary(writes: Writes, action: DeleteCanaryDeployment) -> Done:
    """Delete the extra Deployment and its pods.

    In the foreground: the object stays until its pods are gone, so that the stable Service is not un-pinned
    while pods of an abandoned revision are still ready behind it.
    """
    await writes.delete(DEPLOYMENTS, action.deployment, action.uid, "Foreground")
    return Done(wrote=True)


async def hold_replica_set(writes: Writes, action: HoldReplicaSet) -> Done:
    """Keep the stable revision from counting as whole."""
    operations: list[Operation] = [
        {"op": "test", "path": "/metadata/uid", "value": action.uid},
        _set("minReadySeconds", names.HOLD_MIN_READY_SECONDS),
    ]
    await writes.patch(REPLICA_SETS, action.replica_set, operations)
    return Done(wrote=True)


async def scale_replica_set(writes: Writes, action: ScaleReplicaSet) -> Done:
    """Empty an abandoned revision, or bring the stable one back."""
    operations: list[Operation] = [
        {"op": "test", "path": "/metadata/uid", "value": action.uid},
        _set("replicas", action.replicas),
    ]
    await writes.patch(REPLICA_SETS, action.replica_set, operations)
    return Done(wrote=True)


async def delete_replica_set(writes: Writes, action: DeleteReplicaSet) -> Done:
    """Delete that very ReplicaSet."""
    await writes.delete(REPLICA_SETS, action.replica_set, action.uid)
    return Done(wrote=True)
