"""The batch number of each pod.

Rules (those of the original):
 * the quota of a batch is its size minus the size of the batch before;
 * a pod that carries this release's id keeps its batch;
 * every other pod goes into the lowest batch with room, so a replacement gets the number of the pod that it replaces;
 * pods beyond every quota (scaled up during a release) belong to the current batch.
Pods that are being deleted get no label.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from controller.api.names import ROLLOUT_BATCH_ID, ROLLOUT_BATCH_ID_APPS, ROLLOUT_ID
from controller.api.workloads import Pod

_EPOCH = datetime.fromtimestamp(0, tz=UTC)


class PodLabel(msgspec.Struct, frozen=True):
    """A pod and the 1-based batch it belongs to."""

    pod: Pod
    batch: int


def plan_labels(
    pods: Iterable[Pod], rollout_id: str, batch_sizes: Sequence[int], current: int
) -> tuple[PodLabel, ...]:
    """Labels that are missing on `pods` (all of the new revision).

    `batch_sizes` are cumulative, one per step; `current` is the 1-based step, the last one if the plan was shortened
    since.
    """
    current = min(current, len(batch_sizes))
    alive = [pod for pod in pods if not pod.metadata.deleting]
    room = [
        max(0, size - before)
        for before, size in zip((0, *batch_sizes), batch_sizes[:current], strict=False)
    ]
    unlabelled: list[Pod] = []
    for pod in alive:
        batch = _batch_of(pod, rollout_id, len(batch_sizes))
        if batch is None:
            unlabelled.append(pod)
        elif batch <= len(room):
            room[batch - 1] -= 1
    unlabelled.sort(key=lambda pod: (pod.metadata.creation_timestamp or _EPOCH, pod.metadata.name))
    planned: list[PodLabel] = []
    # The oldest pod first: the pods of an earlier step were created before those of a later one.
    for pod in unlabelled:
        batch = next((i + 1 for i, left in enumerate(room) if left > 0), current)
        room[batch - 1] -= 1
        planned.append(PodLabel(pod=pod, batch=batch))
    return tuple(planned)


def _batch_of(pod: Pod, rollout_id: str, batches: int) -> int | None:
    """The batch in a pod's label, or None when it is missing, invalid or of another release."""
    labels = pod.metadata.labels
    text = labels.get(ROLLOUT_BATCH_ID, "")
    if labels.get(ROLLOUT_ID) != rollout_id or not text.isdecimal():
        return None
    if labels.get(ROLLOUT_BATCH_ID_APPS) != text:
        return None
    return int(text) if 1 <= int(text) <= batches else None
