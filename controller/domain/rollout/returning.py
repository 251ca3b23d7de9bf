"""The way back in batches: a release of the stable revision over the one that is given up, where that is asked for.

Asked for by an annotation of the Rollout; without it, and where it can do nothing, the way back is taken at once.
Invariants: the steps, pauses and approvals are those of the plan; the revision that is stable does not change; taking
the annotation off ends it, and the rest goes back at once. A release that was given up without a person never waits for
one on its way back.
"""

from controller.api import names
from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod
from controller.domain.decision import Action, MarkPod
from controller.domain.pods.partition import ordinals
from controller.domain.pods.returning import to_label
from controller.domain.rollout.by_id import share_by_id
from controller.domain.rollout.shared_routing import shared_routing_of
from controller.domain.rollout.situation import (
    Situation,
    Style,
    canary_status,
    known_template,
    position,
)
from controller.domain.rollout.turn import Stop

IN_BATCHES = (WorkloadKind.STATEFUL_SET, WorkloadKind.CLONE_SET)


def may_return_in_batches(sit: Situation) -> bool:
    """The annotation asks for it, and no traffic waits for the way back."""
    rollout = sit.seen.rollout
    asked = rollout.metadata.annotations.get(names.ROLLBACK_IN_BATCH) == "true"
    routed = bool(sit.strategy.traffic_routings) or bool(shared_routing_of(rollout))
    return asked and not routed and sit.style is Style.PARTITION and sit.kind in IN_BATCHES


def returns_in_batches(sit: Situation, status: RolloutStatus) -> bool:
    """A template that is back to stable begins a way back in batches: there are pods to bring back."""
    given_up = position(status).failed_template == known_template(status)
    return may_return_in_batches(sit) and sit.old_revision_runs and not given_up


def goes_on_returning(sit: Situation, status: RolloutStatus) -> bool:
    """A way back in batches is under way, and still asked for."""
    return position(status).returning and may_return_in_batches(sit)


def returning_id(sit: Situation) -> str:
    """The release's id on pods: another than that of the release which made the stable revision once."""
    own = sit.rollout_id
    return f"rollback-{own}" if own == sit.template_hash else own


def observed_id(sit: Situation, status: RolloutStatus) -> str:
    """The id of the release under way."""
    return returning_id(sit) if position(status).returning else sit.rollout_id


def mark_those_that_stayed(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Before the first move every pod of the stable revision is marked as one that never left."""
    if not (sit.returning and sit.latched):
        return None
    rollout_id = canary_status(status).observed_rollout_id
    actions: tuple[Action, ...] = tuple(
        MarkPod(pod.metadata.key, pod.metadata.uid, rollout_id)
        for pod in sit.new_pods
        if not pod.metadata.deleting and pod.metadata.labels.get(names.NO_NEED_UPDATE) != rollout_id
    )
    return Stop(status, actions) if actions else None


def unmark(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Nothing says any more that a pod never left."""
    actions: tuple[Action, ...] = tuple(
        MarkPod(pod.metadata.key, pod.metadata.uid, "")
        for pod in sit.workload.pods
        if names.NO_NEED_UPDATE in pod.metadata.labels and not pod.metadata.deleting
    )
    return Stop(status, actions) if actions else None


def pods_to_label(sit: Situation, status: RolloutStatus) -> tuple[Pod, ...]:
    """The pods of the new revision that say which batch made them."""
    index = max(1, position(status).step)
    rollout_id = canary_status(status).observed_rollout_id
    if sit.by_id:
        return share_by_id(sit, index, rollout_id)
    if not sit.returning:
        return sit.new_pods
    alive = [pod for pod in sit.new_pods if not pod.metadata.deleting]
    preferred = sorted(alive, key=lambda pod: (-max(ordinals([pod]), default=0), pod.metadata.name))
    return to_label(preferred, rollout_id, sit.batch(index), sit.wanted(index))
