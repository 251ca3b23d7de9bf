"""Takes over objects that the original controller holds, and deletes its BatchRelease.

Invariant: a write tests the observed version; an object that is ours already, or was deleted, is not written.
"""

import contextlib

import msgspec

from controller.api.jsontree import JsonObject, child, text
from controller.api.workload_kinds import workload_kind
from controller.domain.admission.taking_over import Taking, taken_over
from controller.domain.admission.verdict import json_patch
from controller.domain.decision import (
    Done,
    DropBatchRelease,
    NotYet,
    TakeOverWorkload,
)
from controller.effects.freezing import plain
from controller.effects.patches import generation_is
from controller.effects.writes import Writes
from controller.errors import NotFound
from controller.kube.resources import BATCH_RELEASES, Resource


async def workload(writes: Writes, resource: Resource, action: TakeOverWorkload) -> Done | NotYet:
    """Our marks and record in place of the original's, in one request."""
    old = msgspec.json.decode(await writes.read(resource, action.workload), type=JsonObject)
    labels = {name: str(value) for name, value in child(old, "metadata", "labels").items()}
    kind = workload_kind(action.kind.group, action.kind.kind, labels)
    if kind is None:
        return NotYet(f"{action.kind.kind} {action.workload} is not known as a workload")
    taking = Taking(action.rollout, action.release, action.stable_revision, action.stable_template)
    operations = json_patch(old, taken_over(old, kind, taking))
    tested = [generation_is(action.generation), *map(plain, operations)]
    await writes.patch(resource, action.workload, tested)
    return Done(wrote=True)


async def drop_batch_release(writes: Writes, action: DropBatchRelease) -> Done:
    """Remove its finalizer first: the controller that does so is gone. A cluster without the kind has none."""
    with contextlib.suppress(NotFound):
        raw = await writes.read(BATCH_RELEASES, action.batch_release)
        metadata = child(msgspec.json.decode(raw, type=JsonObject), "metadata")
        if metadata.get("finalizers"):
            freed = {"metadata": {"finalizers": None}}
            await writes.merge(BATCH_RELEASES, action.batch_release, freed)
        await writes.delete(BATCH_RELEASES, action.batch_release, text(metadata, "uid"))
    return Done(wrote=True)
