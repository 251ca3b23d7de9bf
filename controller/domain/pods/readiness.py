"""Which pods are ready by the owner's own minReadySeconds.

Why not the workload's counters: while a Deployment is held no pod ever counts as available, and `readyReplicas` ignores
minReadySeconds. Invariant: time is an argument; the answer names the instant at which it may change.
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from controller.api.duration import later, of_seconds
from controller.api.workloads import Pod


class Readiness(msgspec.Struct, frozen=True):
    """Pods of one revision: how many there are, how many count as ready, and the time of the next change."""

    pods: int
    ready: int
    next_at: datetime | None = None


def readiness_of(pods: Iterable[Pod], min_ready_seconds: int, now: datetime) -> Readiness:
    """Count `pods`, terminating ones left out, against the owner's `min_ready_seconds`.

    Without a number of seconds a ready pod counts at once, whatever its node's clock says, as in Kubernetes.
    """
    total = ready = 0
    pending: list[datetime] = []
    for pod in pods:
        if pod.metadata.deleting:
            continue
        total += 1
        since = pod.ready_since
        if since is None:
            continue
        due = later(since, of_seconds(min_ready_seconds))
        if min_ready_seconds == 0 or due <= now:
            ready += 1
        else:
            pending.append(due)
    return Readiness(pods=total, ready=ready, next_at=min(pending, default=None))
