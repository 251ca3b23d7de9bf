"""HorizontalPodAutoscalers: paused during a blue-green release, and restored.

Invariant: a write tests the version that was observed; the saved value and the paused field change in one write.
"""

from controller.api.names import ORIGINAL_BEHAVIOR
from controller.domain.decision import Done, FreeAutoscaler, PauseAutoscaler
from controller.domain.pods.hpa import STILL
from controller.effects.ownership import Marks
from controller.effects.writes import Writes
from controller.kube.resources import HPAS


async def pause(writes: Writes, action: PauseAutoscaler) -> Done:
    """Disable scaling in both directions; the owner's policies stay in the object."""
    metadata = {
        "resourceVersion": action.resource_version,
        "annotations": {ORIGINAL_BEHAVIOR: action.original},
    }
    patch = {"metadata": metadata, "spec": {"behavior": STILL}}
    await writes.merge(HPAS, action.autoscaler, patch)
    return Done(wrote=True)


async def free(writes: Writes, action: FreeAutoscaler) -> Done:
    """Restore the owner's behavior, or none, and remove our fields."""
    behavior: dict[str, object] = (
        {"op": "remove", "path": "/spec/behavior"}
        if action.behavior is None
        else {"op": "add", "path": "/spec/behavior", "value": action.behavior}
    )
    operations: list[dict[str, object]] = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": action.resource_version},
        behavior,
    ]
    await writes.give_back(HPAS, action.autoscaler, operations, Marks((ORIGINAL_BEHAVIOR,)))
    return Done(wrote=True)
