"""Sets of pods: their update strategy and the way back, and pods that make room for others.

Invariant: a write tests the generation that was looked at and the latch it takes off, so a stale or late writer changes
nothing; it never touches a template; a pod is deleted by its UID.
"""

from controller.api import names
from controller.domain.decision import (
    DeletePod,
    Done,
    FieldOfSpec,
    MoveSet,
    ReleaseSet,
    SetCurrentRevision,
)
from controller.effects.writes import Operation, Writes, generation_is, pointer
from controller.kube.resources import PODS, Resource


async def move(writes: Writes, resource: Resource, action: MoveSet) -> Done:
    """Write the update strategy."""
    operations = [generation_is(action.generation)]
    if action.latch:
        latch = pointer("metadata", "annotations", names.LATCH)
        operations += [
            {"op": "test", "path": latch, "value": action.latch},
            {"op": "remove", "path": latch},
        ]
    operations.append({"op": "add", "path": "/spec/updateStrategy", "value": action.strategy})
    operations += map(_written, action.fields)
    await writes.patch(resource, action.workload, operations)
    return Done(wrote=True)


async def set_current_revision(
    writes: Writes, resource: Resource, action: SetCurrentRevision
) -> Done:
    """Write what the set's controller forgot, in the status alone."""
    operations: list[Operation] = [
        {"op": "test", "path": "/metadata/uid", "value": action.uid},
        {"op": "add", "path": "/status/currentRevision", "value": action.revision},
    ]
    await writes.patch(resource, action.workload, operations, "status")
    return Done(wrote=True)


async def release(writes: Writes, resource: Resource, action: ReleaseSet) -> Done:
    """Give the owner's own update strategy back, and take our annotations and labels off, in one write."""
    operations = [generation_is(action.generation)]
    if action.owners is not None:
        strategy = action.owners.strategy
        operations.append(
            {"op": "add", "path": "/spec/updateStrategy", "value": strategy}
            if strategy is not None
            else {"op": "remove", "path": "/spec/updateStrategy"}
        )
    operations += map(_written, action.fields)
    await writes.release(resource, action.workload, operations, action.annotations, action.labels)
    return Done(wrote=True)


def _written(field: FieldOfSpec) -> Operation:
    path = pointer("spec", field.name)
    if field.value is None:
        return {"op": "remove", "path": path}
    return {"op": "add", "path": path, "value": field.value}


async def delete_pod(writes: Writes, action: DeletePod) -> Done:
    """Delete that very pod; a pod disruption budget is not asked: its set may lose it by its owner's own limits."""
    await writes.delete(PODS, action.pod, action.uid)
    return Done(wrote=True)
