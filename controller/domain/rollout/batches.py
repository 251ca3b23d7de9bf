"""The pods of a step, however they are moved: which batch made them, and whether there are enough that are ready."""

from controller.api.rollout import RolloutStatus
from controller.api.workloads import Pod
from controller.domain.decision import Action, LabelPod
from controller.domain.pods.labels import plan_labels
from controller.domain.pods.plan import ready_needed
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.situation import Situation, canary_status, position


def missing_labels(
    sit: Situation, status: RolloutStatus, pods: tuple[Pod, ...]
) -> tuple[Action, ...]:
    """Those of `pods` (of the new revision) that do not say yet which batch made them."""
    index = max(1, position(status).step)
    sizes = [sit.batch(i) for i in range(1, len(sit.steps) + 1)]
    rollout_id = canary_status(status).observed_rollout_id
    return tuple(
        LabelPod(
            pod=label.pod.metadata.key,
            uid=label.pod.metadata.uid,
            rollout_id=rollout_id,
            batch=label.batch,
        )
        for label in plan_labels(pods, rollout_id, sizes, index)
    )


def batch_is_ready(sit: Situation, index: int, counted: Readiness) -> bool:
    """Enough new pods are there, and enough of them are ready."""
    wanted = sit.wanted(index)
    needed = ready_needed(wanted, counted.pods, sit.strategy.failure_threshold)
    return counted.pods >= wanted and counted.ready >= needed
