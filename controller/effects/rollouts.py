"""The Rollout itself: finalizer, plan hash, status.

Invariant: each write carries the resource version that was evaluated, so an approval that arrived meanwhile is never
overwritten; after a conflict the pass is repeated with the present object (the original re-read and replaced, D09).
"""

import contextlib

import msgspec

from controller.api.names import PLAN_HASH, ROLLOUT_FINALIZER
from controller.api.rollout import Rollout, RolloutStatus
from controller.domain.decision import PrepareRollout
from controller.effects.writes import Writes
from controller.errors import NotFound
from controller.kube.resources import ROLLOUTS


async def prepare(writes: Writes, rollout: Rollout, version: str, action: PrepareRollout) -> str:
    """Put finalizer and plan hash on the Rollout; returns its new resource version."""
    finalizers = dict.fromkeys((*rollout.metadata.finalizers, ROLLOUT_FINALIZER))
    patch = {
        "metadata": {
            "resourceVersion": version,
            "finalizers": list(finalizers),
            "annotations": {PLAN_HASH: action.plan_hash},
        }
    }
    return await writes.merge(ROLLOUTS, rollout.metadata.key, patch)


async def remove_finalizer(writes: Writes, rollout: Rollout, version: str) -> None:
    """Remove the Rollout's finalizer; a Rollout that is gone already is no error."""
    kept = [name for name in rollout.metadata.finalizers if name != ROLLOUT_FINALIZER]
    patch = {"metadata": {"resourceVersion": version, "finalizers": kept}}
    with contextlib.suppress(NotFound):
        await writes.merge(ROLLOUTS, rollout.metadata.key, patch)


async def write_status(
    writes: Writes, rollout: Rollout, version: str, status: RolloutStatus
) -> str:
    """Replace the whole status; returns the new resource version."""
    value = msgspec.Raw(msgspec.json.encode(status))
    operations: list[dict[str, object]] = [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        {"op": "add", "path": "/status", "value": value},
    ]
    return await writes.patch(ROLLOUTS, rollout.metadata.key, operations, "status")
