"""The status of a Notification: what was sent.

Invariant: each write carries the resource version that was evaluated, so two processes never overwrite each other's
record of what was sent.
"""

import msgspec

from controller.api.notification import Notification, NotificationStatus
from controller.effects.writes import Writes
from controller.kube.resources import CLUSTER_NOTIFICATIONS, NOTIFICATIONS, Resource


def resource_of(notification: Notification) -> Resource:
    """The kind of a Notification; one without a namespace is a ClusterNotification."""
    return NOTIFICATIONS if notification.metadata.namespace else CLUSTER_NOTIFICATIONS


async def write_notification_status(
    writes: Writes, notification: Notification, status: NotificationStatus
) -> None:
    """Replace the whole status, over the version that was evaluated."""
    meta = notification.metadata
    operations: list[dict[str, object]] = [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": meta.resource_version},
        {"op": "add", "path": "/status", "value": msgspec.Raw(msgspec.json.encode(status))},
    ]
    await writes.patch(resource_of(notification), meta.key, operations, "status")
