"""Workloads: freeze and limits, the restore, the extra Deployment, ReplicaSets of abandoned revisions.

Invariant: a write to a workload tests the observed generation and the admission pause that it ends, so an outdated or
late writer changes nothing; it never changes a template.
"""

from controller.api import names
from controller.api.rollout import OwnersValues
from controller.domain.decision import (
    Done,
    EnsureCanaryDeployment,
    FreezeReplicaSet,
    PaceDeployment,
    ReleaseDeployment,
)
from controller.effects.ownership import Marks
from controller.effects.patches import Operation, generation_is, object_is, pointer
from controller.effects.writes import Writes
from controller.kube.resources import DEPLOYMENTS, REPLICA_SETS


async def pace(writes: Writes, action: PaceDeployment) -> Done:
    """Write the rolling update limits together with the freeze, so manual changes of either are corrected."""
    operations = [generation_is(action.generation)]
    if action.admission_pause:
        admission_pause = pointer("metadata", "annotations", names.ADMISSION_PAUSE)
        operations += [
            {"op": "test", "path": admission_pause, "value": action.admission_pause},
            {"op": "remove", "path": admission_pause},
            _set("paused", False),
        ]
    rolling = {"maxSurge": action.max_surge, "maxUnavailable": action.max_unavailable}
    operations += [
        _set("strategy", {"type": "RollingUpdate", "rollingUpdate": rolling}),
        _set("minReadySeconds", action.min_ready_seconds),
        _set("progressDeadlineSeconds", action.progress_deadline_seconds),
    ]
    if action.extra_status:
        noted = pointer("metadata", "annotations", names.EXTRA_STATUS)
        operations.append({"op": "add", "path": noted, "value": action.extra_status})
    await writes.patch(DEPLOYMENTS, action.workload, operations)
    return Done(wrote=True)


async def release(writes: Writes, action: ReleaseDeployment) -> Done:
    """Restore the owner's own values, and remove our annotations and labels.

    Where the values are restored already, the last marks go together with our entries among the field managers.
    """
    operations = [generation_is(action.generation)]
    marks = Marks(action.annotations, action.labels)
    if action.owners is not None:
        operations += _owners_operations(action.owners)
    elif names.IN_PROGRESSING in action.annotations and await writes.unmark(
        DEPLOYMENTS, action.workload, action.resource_version, marks, action.entries
    ):
        return Done(wrote=True)
    await writes.release(DEPLOYMENTS, action.workload, operations, marks)
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
    """Create the extra Deployment; its name follows from the release, so an existing one is the right one."""
    made = await writes.create(DEPLOYMENTS, action.deployment, bytes(action.body))
    return Done(wrote=made)


async def freeze_replica_set(writes: Writes, action: FreezeReplicaSet) -> Done:
    """Keep the pods of the stable revision from counting as available."""
    frozen = _set("minReadySeconds", names.FREEZE_MIN_READY_SECONDS)
    await writes.patch(REPLICA_SETS, action.replica_set, [object_is(action.uid), frozen])
    return Done(wrote=True)
