"""Rollback in batches: releases the stable revision step by step over the revision that was given up.

An annotation of the Rollout asks for it; without it, and where it has no effect, a rollback is immediate. Invariants:
steps, pauses and approvals are those of the plan; the stable revision does not change; if the annotation is removed,
the remaining pods return at once. A release that was given up automatically never waits for a person during its
rollback.
"""

from controller.api import names
from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod
from controller.domain.decision import Action, MarkPod
from controller.domain.pods.partition import ordinals
from controller.domain.pods.returning import to_label
from controller.domain.rollout.by_id import share_by_id
from controller.domain.rollout.release_context import (
    ReleaseContext,
    Style,
    canary_status,
    known_template,
    moonshift_status,
)
from controller.domain.rollout.shared_routing import divides_traffic
from controller.domain.rollout.transition import Stop

IN_BATCHES = (WorkloadKind.STATEFUL_SET, WorkloadKind.CLONE_SET)


def may_return_in_batches(context: ReleaseContext) -> bool:
    """The annotation asks for it, and no traffic waits for the rollback."""
    asked = context.seen.rollout.metadata.annotations.get(names.ROLLBACK_IN_BATCH) == "true"
    by_kind = context.style is Style.PARTITION and context.kind in IN_BATCHES
    return asked and by_kind and not divides_traffic(context)


def returns_in_batches(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The stable template came back and begins a rollback in batches: there are new pods to replace."""
    given_up = moonshift_status(status).failed_template == known_template(status)
    return may_return_in_batches(context) and context.old_revision_runs and not given_up


def still_returning(context: ReleaseContext, status: RolloutStatus) -> bool:
    """A rollback in batches is under way, and the annotation still asks for it."""
    return moonshift_status(status).returning and may_return_in_batches(context)


def returning_id(context: ReleaseContext) -> str:
    """The release's id on pods: different from the id of the release that created the stable revision."""
    own = context.rollout_id
    return f"rollback-{own}" if own == context.template_hash else own


def observed_id(context: ReleaseContext, status: RolloutStatus) -> str:
    """The id of the release under way."""
    return returning_id(context) if moonshift_status(status).returning else context.rollout_id


def mark_pods_that_stayed(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Before the first move, mark every pod of the stable revision that no step has replaced."""
    if not (context.returning and context.admission_paused):
        return None
    rollout_id = observed_id(context, status)
    actions: tuple[Action, ...] = tuple(
        MarkPod(pod.metadata.key, pod.metadata.uid, rollout_id)
        for pod in context.new_pods
        if not pod.metadata.deleting and pod.metadata.labels.get(names.NO_NEED_UPDATE) != rollout_id
    )
    return Stop(status, actions) if actions else None


def unmark(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Remove these marks from all pods."""
    actions: tuple[Action, ...] = tuple(
        MarkPod(pod.metadata.key, pod.metadata.uid, "")
        for pod in context.workload.pods
        if names.NO_NEED_UPDATE in pod.metadata.labels and not pod.metadata.deleting
    )
    return Stop(status, actions) if actions else None


def pods_to_label(context: ReleaseContext, status: RolloutStatus) -> tuple[Pod, ...]:
    """The pods of the new revision that carry the number of their batch."""
    index = max(1, moonshift_status(status).step)
    rollout_id = canary_status(status).observed_rollout_id
    if context.by_id:
        return share_by_id(context, index, rollout_id)
    if not context.returning:
        return context.new_pods
    alive = [pod for pod in context.new_pods if not pod.metadata.deleting]
    preferred = sorted(alive, key=lambda pod: (-max(ordinals([pod]), default=0), pod.metadata.name))
    return to_label(preferred, rollout_id, context.batch(index), context.wanted(index))
