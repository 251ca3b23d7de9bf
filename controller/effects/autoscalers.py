"""HorizontalPodAutoscalers: paused during a blue-green release, and restored.

Invariant: a write tests the version that was observed; a restore that a killed controller left half-done is repeated.
"""

from controller.api.jsontree import JsonObject
from controller.api.names import ORIGINAL_BEHAVIOR
from controller.domain.decision import Done, FreeAutoscaler, PauseAutoscaler
from controller.domain.pods.held_autoscalers import PAUSED_BEHAVIOR
from controller.effects.ownership import Marks
from controller.effects.patches import Operation, absent
from controller.effects.writes import Writes
from controller.kube.resources import HPAS

BEHAVIOR = "/spec/behavior"


async def pause(writes: Writes, action: PauseAutoscaler) -> Done:
    """Disable scaling in both directions; the owner's policies stay in the object, and it names its workload."""
    metadata = {
        "resourceVersion": action.resource_version,
        "annotations": {ORIGINAL_BEHAVIOR: action.original},
    }
    spec: JsonObject = {"behavior": PAUSED_BEHAVIOR}
    if action.target:
        spec["scaleTargetRef"] = {"name": action.target}
    patch = {"metadata": metadata, "spec": spec}
    await writes.merge(HPAS, action.autoscaler, patch)
    return Done(wrote=True)


async def free(writes: Writes, action: FreeAutoscaler) -> Done:
    """Restore the owner's behavior, or none, and remove our fields."""
    operations: list[Operation] = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": action.resource_version}
    ]
    if action.behavior is None:
        operations += absent(BEHAVIOR)
    else:
        operations.append({"op": "add", "path": BEHAVIOR, "value": action.behavior})
    await writes.give_back(HPAS, action.autoscaler, operations, Marks((ORIGINAL_BEHAVIOR,)))
    return Done(wrote=True)
