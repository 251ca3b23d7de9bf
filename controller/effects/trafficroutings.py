"""The status of a TrafficRouting.

Invariant: each write carries the resource version that was evaluated, so two Rollouts that join at the same moment
never overwrite each other; after a conflict the pass is repeated with the present object.
"""

import msgspec

from controller.api.trafficrouting import TrafficRouting, TrafficRoutingStatus
from controller.effects.writes import Writes
from controller.kube.resources import TRAFFIC_ROUTINGS


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
