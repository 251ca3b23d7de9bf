"""Restores label, marks, freeze and pause of a workload that lost them, through admission's own rules.

Invariant: the write tests the generation that was observed, so a late writer changes nothing; it never changes a
template.
"""

import msgspec

from controller.api.jsontree import JsonObject, child
from controller.api.workload_kinds import workload_kind
from controller.domain.admission.again import frozen_again, lost_by
from controller.domain.admission.verdict import PatchOperation, json_patch
from controller.domain.decision import Done, FreezeWorkload, NotYet
from controller.effects.patches import Operation, generation_is
from controller.effects.writes import Writes
from controller.kube.resources import Resource


async def freeze(writes: Writes, resource: Resource, action: FreezeWorkload) -> Done | NotYet:
    """Write label, marks, freeze and pause in one request."""
    old = msgspec.json.decode(await writes.read(resource, action.workload), type=JsonObject)
    labels = {name: str(value) for name, value in child(old, "metadata", "labels").items()}
    kind = workload_kind(action.kind.group, action.kind.kind, labels)
    if kind is None:
        return NotYet(f"{action.kind.kind} {action.workload} is not known as a workload")
    operations = json_patch(old, frozen_again(old, kind, lost_by(action)))
    tested = [generation_is(action.generation), *map(plain, operations)]
    await writes.patch(resource, action.workload, tested)
    return Done(wrote=True)


def plain(operation: PatchOperation) -> Operation:
    """The operation as the client sends it."""
    body: Operation = {"op": operation.op, "path": operation.path}
    if operation.op != "remove":
        body["value"] = operation.value
    return body
