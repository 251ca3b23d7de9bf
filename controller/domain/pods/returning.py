"""Going back batch by batch: how many pods should be of the stable revision again, and which of them say so.

Pods that never left the stable revision are no work: a step's share is taken of the others. They carry a mark, because
once a pod has come back nothing else tells it from one that stayed. Invariant: the arithmetic is the original's; labels
go to pods that came back first, and those that stayed fill up what a step has room for.
"""

from collections.abc import Iterable, Sequence

from controller.api.names import NO_NEED_UPDATE, ROLLOUT_ID
from controller.api.rollout import Step
from controller.api.workloads import Pod
from controller.domain.pods.plan import batch_size


def stayed(pods: Iterable[Pod], rollout_id: str) -> tuple[Pod, ...]:
    """Those that never left, as far as they were marked for this release."""
    return tuple(pod for pod in pods if pod.metadata.labels.get(NO_NEED_UPDATE) == rollout_id)


def back_at(steps: Sequence[Step], index: int, replicas: int, never_left: int) -> int:
    """Pods wanted of the stable revision at 1-based step `index`, those included that never left."""
    return never_left + batch_size(steps, index, max(0, replicas - never_left))


def to_label(pods: Sequence[Pod], rollout_id: str, planned: int, wanted: int) -> tuple[Pod, ...]:
    """The pods (all of the stable revision, in the order in which they are preferred) that a step labels.

    `planned` is how many the step labels of all replicas, `wanted` how many it wants of the revision.
    """
    unlabelled = [
        pod for pod in stayed(pods, rollout_id) if pod.metadata.labels.get(ROLLOUT_ID) != rollout_id
    ]
    first = tuple(pod for pod in pods if pod not in unlabelled)
    room = planned - max(0, wanted - len(unlabelled))
    return (*first, *unlabelled[: max(0, room)])
