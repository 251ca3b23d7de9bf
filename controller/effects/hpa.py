"""HorizontalPodAutoscalers: held still during a blue-green release, and given back.

Invariant: a write tests the version that was looked at; what is saved and what is held change in one write.
"""

from typing import assert_never

from controller.api.names import ORIGINAL_BEHAVIOR
from controller.domain.decision import Done, FreeAutoscaler, HoldAutoscaler
from controller.domain.pods.hpa import STILL
from controller.effects.writes import Writes, pointer
from controller.kube.resources import HPAS


async def write(writes: Writes, action: HoldAutoscaler | FreeAutoscaler) -> Done:
    """Hold an autoscaler, or free it."""
    match action:
        case HoldAutoscaler():
            return await hold(writes, action)
        case FreeAutoscaler():
            return await free(writes, action)
        case _:
            assert_never(action)


async def hold(writes: Writes, action: HoldAutoscaler) -> Done:
    """Disable both directions; policies the owner has stay where they are."""
    metadata = {
        "resourceVersion": action.resource_version,
        "annotations": {ORIGINAL_BEHAVIOR: action.original},
    }
    patch = {"metadata": metadata, "spec": {"behavior": STILL}}
    await writes.merge(HPAS, action.autoscaler, patch)
    return Done(wrote=True)


async def free(writes: Writes, action: FreeAutoscaler) -> Done:
    """The owner's behavior, or none, and nothing of ours."""
    behavior: dict[str, object] = (
        {"op": "remove", "path": "/spec/behavior"}
        if action.behavior is None
        else {"op": "add", "path": "/spec/behavior", "value": action.behavior}
    )
    operations: list[dict[str, object]] = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": action.resource_version},
        behavior,
        {"op": "remove", "path": pointer("metadata", "annotations", ORIGINAL_BEHAVIOR)},
    ]
    await writes.patch_and_disown(HPAS, action.autoscaler, operations)
    return Done(wrote=True)
