"""Sets of pods: write and restore their update strategy.

Invariant: a write tests the observed generation and the admission pause that it ends, so an outdated or late writer
changes nothing; it never changes a template.
"""

from controller.api import names
from controller.domain.decision import (
    Done,
    FieldOfSpec,
    MoveSet,
    ReleaseSet,
    SetCurrentRevision,
)
from controller.effects.ownership import Marks
from controller.effects.patches import Operation, absent, generation_is, object_is, pointer
from controller.effects.writes import Writes
from controller.kube.resources import Resource

UPDATE_STRATEGY = "/spec/updateStrategy"


async def move(writes: Writes, resource: Resource, action: MoveSet) -> Done:
    """Write the update strategy."""
    operations = [generation_is(action.generation)]
    if action.admission_pause:
        admission_pause = pointer("metadata", "annotations", names.ADMISSION_PAUSE)
        operations += [
            {"op": "test", "path": admission_pause, "value": action.admission_pause},
            {"op": "remove", "path": admission_pause},
        ]
    operations.append({"op": "add", "path": UPDATE_STRATEGY, "value": action.strategy})
    operations += _written(action.fields)
    await writes.patch(resource, action.workload, operations)
    return Done(wrote=True)


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


async def release(writes: Writes, resource: Resource, action: ReleaseSet) -> Done:
    """Restore the owner's own update strategy, and remove our annotations and labels, in one write."""
    operations = [generation_is(action.generation)]
    if action.owners is not None:
        strategy = action.owners.strategy
        if strategy is None:
            operations += absent(UPDATE_STRATEGY)
        else:
            operations.append({"op": "add", "path": UPDATE_STRATEGY, "value": strategy})
    operations += _written(action.fields)
    await writes.release(
        resource, action.workload, operations, Marks(action.annotations, action.labels)
    )
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
