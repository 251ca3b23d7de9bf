"""Moving pods for a step: what has to be so before its pods count as upgraded.

Order: the stable Service is pinned before a pod of the new revision can exist (unless one Service is
shared on purpose); a latched Deployment loses abandoned revisions before its first move; then growth,
readiness, labels. Invariant: nothing here takes a pod away from a route; giving the old share back is decided after
the route has moved.
"""

from controller.api import names
from controller.api.meta import Key
from controller.api.rollout import PatchMetadata, RolloutStatus
from controller.api.workloads import Pod, ReplicaSet
from controller.domain import reasons
from controller.domain.decision import (
    Action,
    EnsureCanaryDeployment,
    LabelPod,
    PaceDeployment,
    Refusal,
    ScaleCanaryDeployment,
    ScaleReplicaSet,
)
from controller.domain.pods.canary import canary_deployment, canary_name
from controller.domain.pods.deployment import (
    Knobs,
    latched,
    owners_limits,
    paused_by_its_owner,
    standing_knobs,
    write_knobs,
    written,
)
from controller.domain.pods.labels import plan_labels
from controller.domain.pods.pacing import next_knobs
from controller.domain.pods.plan import ready_needed
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.situation import Situation, canary_status, position
from controller.domain.rollout.turn import Stop


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
    wanted = sit.batch(index)
    needed = ready_needed(wanted, counted.pods, sit.strategy.failure_threshold)
    return counted.pods >= wanted and counted.ready >= needed


def canary_size_is_wrong(sit: Situation, index: int) -> bool:
    """The extra Deployment is missing or smaller than the step wants; it is never shrunk."""
    canary = sit.canary
    return canary is None or canary.deployment.spec.replicas < sit.batch(index)


def grow_canary(sit: Situation, index: int) -> tuple[Action, ...]:
    """Canary style: the extra Deployment has the step's size."""
    if not canary_size_is_wrong(sit, index):
        return ()
    canary = sit.canary
    size = sit.batch(index)
    if canary is not None:
        meta = canary.deployment.metadata
        return (ScaleCanaryDeployment(meta.key, meta.uid, size),)
    rollout_uid = sit.seen.rollout.metadata.uid
    name = canary_name(sit.deployment, sit.template_hash, rollout_uid)
    body = canary_deployment(
        sit.deployment,
        name=name,
        replicas=size,
        template_hash=sit.template_hash,
        rollout_uid=rollout_uid,
        owners=sit.owners_values,
        patch=sit.strategy.patch_pod_template_metadata or PatchMetadata(),
    )
    return (EnsureCanaryDeployment(Key(sit.namespace, name), body),)


def blocked_workload(sit: Situation, status: RolloutStatus) -> Stop | None:
    """The workload cannot be moved now: its owner paused it, or its controller has not caught up."""
    if paused_by_its_owner(sit.deployment):
        problem = Refusal(
            reason=reasons.PAUSED_BY_OWNER,
            message=f"Deployment {sit.workload_key} is paused, and not by Moonshift: "
            "set spec.paused to false to go on",
            object=f"Deployment {sit.workload_key}",
        )
        return Stop(status=status, problem=problem)
    # Between a patch and the Deployment controller's answer the pods still follow the old knobs.
    return None if sit.deployment.observed else Stop(status=status)


def abandoned(sit: Situation, status: RolloutStatus) -> tuple[ReplicaSet, ...]:
    """Active ReplicaSets that are neither stable nor new: an earlier release left them."""
    keep = (position(status).stable_revision, sit.new_revision)
    return tuple(rs for rs, _ in sit.workload.replica_sets if rs.active and rs.revision not in keep)


def clear_abandoned(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Scale abandoned revisions to zero and wait until the stable one is whole again.

    Without this the next batch would be taken out of the stable revision (experiment 8: 5+5 and a third revision of
    2 leaves 5+3+2); the Deployment's own controller refills stable once the others want nothing.
    """
    left = abandoned(sit, status)
    if left:
        scale = tuple(ScaleReplicaSet(rs.metadata.key, rs.metadata.uid, 0) for rs in left)
        return Stop(status=status, actions=scale)
    keep = (position(status).stable_revision, sit.new_revision)
    leaving = any(
        pod.revision not in keep and not pod.metadata.deleting for pod in sit.workload.pods
    )
    return Stop(status=status) if leaving else None


def present_knobs(sit: Situation) -> Knobs:
    """Where the plan stands: what the held Deployment says, or what is running while it is latched."""
    if not latched(sit.deployment):
        return standing_knobs(sit.deployment)
    running = sit.replica_set_of(sit.template_hash)
    return Knobs(0, running.spec.replicas if running is not None else 0)


def pace(sit: Situation, index: int, counted: Readiness, *, give_back: bool) -> tuple[Action, ...]:
    """Partition style: the next move of the Deployment's knobs, or nothing; never without the owner's own values."""
    if sit.owners is None:
        return ()
    current = present_knobs(sit)
    enough = batch_is_ready(sit, index, counted)
    knobs = next_knobs(
        current,
        sit.batch(index),
        max(counted.ready, current.new_pods) if enough else counted.ready,
        owners_limits(sit.owners_values, sit.replicas),
        give_back=give_back,
    )
    values = write_knobs(knobs, sit.replicas)
    unlatch = latched(sit.deployment)
    if not unlatch and (knobs == current or written(sit.deployment, values)):
        return ()
    return (
        PaceDeployment(
            workload=sit.workload_key,
            generation=sit.deployment.metadata.generation,
            max_surge=values.max_surge,
            max_unavailable=values.max_unavailable,
            latch=sit.deployment.metadata.annotations[names.LATCH] if unlatch else "",
        ),
    )


def old_share_given_back(sit: Situation, index: int) -> bool:
    """Partition style: no surge is left over from growing, and the old pods in its place are gone."""
    knobs = present_knobs(sit)
    return knobs.surge == 0 and knobs.new_pods >= sit.batch(index) and sit.deployment.observed


def first_move_is_clear(sit: Situation, status: RolloutStatus) -> Stop | None:
    """What must be so before a held Deployment is moved at all."""
    blocked = blocked_workload(sit, status)
    if blocked is not None:
        return blocked
    return clear_abandoned(sit, status) if latched(sit.deployment) else None
