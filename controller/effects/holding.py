"""A workload that lost its label, marks, hold or latch gets them back, through admission's own rules.

Invariant: the write tests the generation that was looked at, so a late writer changes nothing; it never touches a
template.
"""

import msgspec

from controller.api.jsontree import JsonObject, child
from controller.api.workload_kinds import workload_kind
from controller.domain.admission.again import held_again, lost_by
from controller.domain.admission.verdict import PatchOperation, json_patch
from controller.domain.decision import Done, HoldWorkload, NotYet
from controller.effects.writes import Operation, Writes, generation_is
from controller.kube.resources import Resource


async def hold(writes: Writes, resource: Resource, action: HoldWorkload) -> Done | NotYet:
    """Label, marks, hold and latch, in one write."""
    old = msgspec.json.decode(await writes.read(resource, action.workload), type=JsonObject)
    labels = {name: str(value) for name, value in child(old, "metadata", "labels").items()}
    kind = workload_kind(action.kind.group, action.kind.kind, labels)
    if kind is None:
        return NotYet(f"{action.kind.kind} {action.workload} is not known as a workload")
    operations = json_patch(old, held_again(old, kind, lost_by(action)))
    tested = [generation_is(action.generation), *map(plain, operations)]
    await writes.patch(resource, action.workload, tested)
    return Done(wrote=True)


def plain(operation: PatchOperation) -> Operation:
    """The operation as the client sends it."""
    said: Operation = {"op": operation.op, "path": operation.path}
    if operation.op != "remove":
        said["value"] = operation.value
    return said
