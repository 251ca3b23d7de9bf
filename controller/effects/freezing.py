"""Restores label, marks, freeze and pause of a workload that lost them, through admission's own rules.

Invariant: the write tests the generation that was observed, so a late writer changes nothing; it never changes a
template.
"""

from collections.abc import Sequence

import msgspec

from controller.api.jsontree import JsonObject, child, text
from controller.api.names import WORKLOAD_TYPE
from controller.api.workload_kinds import workload_kind
from controller.domain import reasons
from controller.domain.admission.again import frozen_again, lost_by
from controller.domain.admission.verdict import PatchOperation, json_patch
from controller.domain.decision import Done, FreezeWorkload, NotYet, Refusal
from controller.effects.patches import Operation, generation_is
from controller.effects.writes import Writes
from controller.kube.resources import Resource

RETRY_SECONDS = 30.0
"""When a write that somebody else undid is tried again."""


async def freeze(
    writes: Writes, resource: Resource, action: FreezeWorkload
) -> Done | NotYet | Refusal:
    """Write label, marks, freeze and pause in one request.

    Refused if the API server stores the write without any change: a policy undoes it, and no event would follow.
    """
    old = msgspec.json.decode(await writes.read(resource, action.workload), type=JsonObject)
    labels = {name: str(value) for name, value in child(old, "metadata", "labels").items()}
    kind = workload_kind(action.kind.group, action.kind.kind, labels)
    if kind is None:
        return NotYet(f"{action.kind.kind} {action.workload} is not known as a workload")
    operations = json_patch(old, frozen_again(old, kind, lost_by(action)))
    tested = [generation_is(action.generation), *map(plain, operations)]
    stored = await writes.patch(resource, action.workload, tested)
    if operations and stored == text(old, "metadata", "resourceVersion"):
        return _undone(action, operations)
    return Done(wrote=True)


def _undone(action: FreezeWorkload, operations: Sequence[PatchOperation]) -> Refusal:
    name = f"{action.kind.kind} {action.workload}"
    fields = ", ".join(operation.path.strip("/").replace("/", ".") for operation in operations)
    return Refusal(
        reasons.WORKLOAD_CONTESTED,
        f"{name} cannot be held: an admission webhook or policy of somebody else undoes each write of {fields}; "
        f"exempt objects with the label {WORKLOAD_TYPE} from it",
        object=name,
        retry_after=RETRY_SECONDS,
    )


def plain(operation: PatchOperation) -> Operation:
    """The operation as the client sends it."""
    body: Operation = {"op": operation.op, "path": operation.path}
    if operation.op != "remove":
        body["value"] = operation.value
    return body
