"""One object of any kind: deleted, sized, or marked.

Invariant: a write tests the UID or the version that was observed, so it never meets a later object of the same name.
"""

from controller.api import names
from controller.api.jsontree import JsonObject
from controller.domain.decision import DeleteObject, Done, SetMetadata, SetSize
from controller.effects.patches import Operation, object_is, pointer
from controller.effects.writes import Writes
from controller.errors import NotFound
from controller.kube.client import Propagation
from controller.kube.resources import (
    CONFIG_MAPS,
    CONTROLLER_REVISIONS,
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    SECRETS,
    SERVICES,
    TRAFFIC_ROUTINGS,
    Resource,
)

BUILT_IN = {
    (each.api_version, each.kind): each
    for each in (
        DEPLOYMENTS,
        REPLICA_SETS,
        PODS,
        SERVICES,
        CONTROLLER_REVISIONS,
        CONFIG_MAPS,
        SECRETS,
        TRAFFIC_ROUTINGS,
    )
}
"""Kinds that every cluster serves, and our own; others are looked up."""


async def delete(writes: Writes, resource: Resource, action: DeleteObject) -> Done:
    """Delete that very object; a pod without asking a PodDisruptionBudget: the owner's own limits allow it.

    In the foreground, an extra Deployment stays until its pods are gone, so that the stable Service is not un-pinned
    while pods of an abandoned revision are still ready behind it.
    """
    propagation: Propagation = "Foreground" if action.pods_first else "Background"
    await writes.delete(resource, action.object, action.uid, propagation)
    return Done(wrote=True)


async def size(writes: Writes, resource: Resource, action: SetSize) -> Done:
    """Write the number of pods, with the marks that the Deployment's controller reads."""
    operations: list[Operation] = [
        object_is(action.uid),
        {"op": "add", "path": "/spec/replicas", "value": action.replicas},
    ]
    if action.sized_for is not None:
        marked = zip((names.DESIRED_REPLICAS, names.MAX_REPLICAS), action.sized_for, strict=True)
        for name, size in marked:
            path = pointer("metadata", "annotations", name)
            operations.append({"op": "add", "path": path, "value": str(size)})
    await writes.patch(resource, action.object, operations)
    return Done(wrote=True)


async def mark(writes: Writes, resource: Resource, action: SetMetadata) -> Done:
    """Write the labels and annotations; an object that is named by its UID and is gone needs none."""
    fields = {
        "uid": action.uid,
        "resourceVersion": action.resource_version,
        "labels": action.labels,
        "annotations": action.annotations,
    }
    metadata: JsonObject = {name: value for name, value in fields.items() if value}
    if action.finalizers is not None:
        metadata["finalizers"] = list(action.finalizers)
    if action.disowned:
        metadata["ownerReferences"] = None
    try:
        await writes.merge(resource, action.object, {"metadata": metadata})
    except NotFound:
        if not action.uid:
            raise
        return Done()
    return Done(wrote=True)
