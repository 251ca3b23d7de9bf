"""The TrafficRouting: its finalizers and its status.

Invariant: each write carries the resource version that was evaluated, so two Rollouts that join at the same moment
never overwrite each other; after a conflict the pass is repeated with the present object.
"""

import contextlib

import msgspec

from controller.api.trafficrouting import TrafficRouting, TrafficRoutingStatus
from controller.domain.decision import Done, SetFinalizers
from controller.effects.writes import Writes
from controller.errors import NotFound
from controller.kube.resources import TRAFFIC_ROUTINGS


async def set_finalizers(writes: Writes, action: SetFinalizers) -> Done:
    """Set the finalizers; an object that is gone already is no error."""
    version, finalizers = action.resource_version, list(action.finalizers)
    patch = {"metadata": {"resourceVersion": version, "finalizers": finalizers}}
    with contextlib.suppress(NotFound):
        await writes.merge(TRAFFIC_ROUTINGS, action.traffic_routing, patch)
    return Done(wrote=True)


async def write_routing_status(
    writes: Writes, routing: TrafficRouting, status: TrafficRoutingStatus
) -> None:
    """Replace the whole status, over the version that was evaluated."""
    meta = routing.metadata
    operations: list[dict[str, object]] = [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": meta.resource_version},
        {"op": "add", "path": "/status", "value": msgspec.Raw(msgspec.json.encode(status))},
    ]
    await writes.patch(TRAFFIC_ROUTINGS, meta.key, operations, "status")
