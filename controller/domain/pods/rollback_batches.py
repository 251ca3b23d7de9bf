"""Rollback in batches: how many pods should have the stable revision again, and which of them get the release's labels.

Pods that never left the stable revision do not count: a step's share is a share of the others. They carry a mark,
because nothing else distinguishes them from pods that came back. Invariant: the arithmetic is the original's; labels
go first to pods that came back, then to pods that stayed, until the step's number is reached.
"""

from collections.abc import Iterable, Sequence

from controller.api.names import NO_NEED_UPDATE, ROLLOUT_ID
from controller.api.rollout import Step
from controller.api.workloads import Pod
from controller.domain.pods.plan import batch_size


def stayed(pods: Iterable[Pod], rollout_id: str) -> tuple[Pod, ...]:
    """Pods that never left the stable revision, by their marks for this release."""
    return tuple(pod for pod in pods if pod.metadata.labels.get(NO_NEED_UPDATE) == rollout_id)


def back_at(steps: Sequence[Step], index: int, replicas: int, never_left: int) -> int:
    """Pods wanted of the stable revision at 1-based step `index`, including those that never left it."""
    return never_left + batch_size(steps, index, max(0, replicas - never_left))


def to_label(pods: Sequence[Pod], rollout_id: str, planned: int, wanted: int) -> tuple[Pod, ...]:
    """The pods (all of the stable revision, in the order in which they are preferred) that a step labels.

    `planned` is the number of all replicas that the step labels, `wanted` the number that it wants of the revision.
    """
    unlabelled = [
        pod for pod in stayed(pods, rollout_id) if pod.metadata.labels.get(ROLLOUT_ID) != rollout_id
    ]
    first = tuple(pod for pod in pods if pod not in unlabelled)
    room = planned - max(0, wanted - len(unlabelled))
    return (*first, *unlabelled[: max(0, room)])
