"""Workloads: limits, strategy and freeze, the restore, the extra Deployment, ReplicaSets of abandoned revisions.

Invariant: a write to a workload tests the observed generation and the admission pause that it ends, so an outdated or
late writer changes nothing; it never changes a template.
"""

from controller.api import names
from controller.domain.decision import (
    Done,
    EnsureCanaryDeployment,
    FieldOfSpec,
    FreezeReplicaSet,
    MoveWorkload,
    ReleaseWorkload,
    SetCurrentRevision,
)
from controller.effects.ownership import Marks
from controller.effects.patches import Operation, absent, generation_is, object_is, pointer
from controller.effects.writes import Writes
from controller.kube.resources import DEPLOYMENTS, REPLICA_SETS, Resource


async def move(writes: Writes, resource: Resource, action: MoveWorkload) -> Done:
    """Write limits or strategy together with the freeze, so manual changes of either are corrected."""
    operations = [generation_is(action.generation)]
    if action.admission_pause:
        admission_pause = pointer("metadata", "annotations", names.ADMISSION_PAUSE)
        operations += [
            {"op": "test", "path": admission_pause, "value": action.admission_pause},
            {"op": "remove", "path": admission_pause},
        ]
    operations += _written(action.fields)
    if action.extra_status:
        noted = pointer("metadata", "annotations", names.EXTRA_STATUS)
        operations.append({"op": "add", "path": noted, "value": action.extra_status})
    await writes.patch(resource, action.workload, operations)
    return Done(wrote=True)


async def release(writes: Writes, resource: Resource, action: ReleaseWorkload) -> Done:
    """Restore the owner's own values, and remove our annotations and labels.

    Where the values are restored already, the last marks go together with our entries among the field managers.
    """
    operations = [generation_is(action.generation), *_written(action.fields)]
    marks = Marks(action.annotations, action.labels)
    known = action.resource_version and names.IN_PROGRESSING in action.annotations
    if (
        known
        and not action.fields
        and await writes.unmark(
            resource, action.workload, action.resource_version, marks, action.entries
        )
    ):
        return Done(wrote=True)
    await writes.release(resource, action.workload, operations, marks)
    return Done(wrote=True)


def _written(fields: tuple[FieldOfSpec, ...]) -> list[Operation]:
    operations: list[Operation] = []
    for field in fields:
        path = pointer("spec", field.name)
        if field.value is None:
            operations += absent(path)
        else:
            operations.append({"op": "add", "path": path, "value": field.value})
    return operations


async def set_current_revision(
    writes: Writes, resource: Resource, action: SetCurrentRevision
) -> Done:
    """Write a field that the set's controller lost, in the status alone."""
    operations: list[Operation] = [
        object_is(action.uid),
        {"op": "add", "path": "/status/currentRevision", "value": action.revision},
    ]
    await writes.patch(resource, action.workload, operations, "status")
    return Done(wrote=True)


async def ensure_canary(writes: Writes, action: EnsureCanaryDeployment) -> Done:
    """Create the extra Deployment; its name follows from the release, so an existing one is the right one."""
    made = await writes.create(DEPLOYMENTS, action.deployment, bytes(action.body))
    return Done(wrote=made)


async def freeze_replica_set(writes: Writes, action: FreezeReplicaSet) -> Done:
    """Keep the pods of the stable revision from counting as available."""
    operations: list[Operation] = [
        object_is(action.uid),
        {"op": "add", "path": "/spec/minReadySeconds", "value": names.FREEZE_MIN_READY_SECONDS},
    ]
    await writes.patch(REPLICA_SETS, action.replica_set, operations)
    return Done(wrote=True)
