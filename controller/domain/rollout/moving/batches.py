"""The pods of a step, for every mechanism: their batch numbers, and whether enough of them are ready."""

from controller.api import names
from controller.api.workloads import Pod
from controller.domain.decision import POD, Action, SetMetadata
from controller.domain.pods.labels import plan_labels
from controller.domain.pods.plan import ready_needed
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.moving.returning import observed_id
from controller.domain.rollout.words.release_value import Release


def missing_labels(release: Release, pods: tuple[Pod, ...]) -> tuple[Action, ...]:
    """Label the `pods` (of the new revision) that do not carry the number of their batch yet."""
    index = max(1, release.ours.step)
    sizes = [release.batch(i) for i in range(1, len(release.steps) + 1)]
    rollout_id = observed_id(release)
    return tuple(
        _labelled(label.pod, rollout_id, str(label.batch))
        for label in plan_labels(pods, rollout_id, sizes, index)
    )


def _labelled(pod: Pod, rollout_id: str, batch: str) -> SetMetadata:
    """The pod says which release and batch made it."""
    labels: dict[str, str | None] = {
        names.ROLLOUT_ID: rollout_id,
        names.ROLLOUT_BATCH_ID: batch,
        names.ROLLOUT_BATCH_ID_APPS: batch,
    }
    return SetMetadata(POD, pod.metadata.key, pod.metadata.uid, labels=labels)


def batch_is_ready(release: Release, index: int, counted: Readiness) -> bool:
    """Enough new pods exist, and enough of them are ready."""
    wanted = release.wanted(index)
    needed = ready_needed(wanted, counted.pods, release.strategy.failure_threshold)
    return counted.pods >= wanted and counted.ready >= needed
