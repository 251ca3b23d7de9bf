"""Finds the present step of a release in a plan that was edited during a release.

The present step stays the present one if it asks for at least as many pods as before. If it asks for fewer, the release
goes on at the first step that asks for as many as before; if there is none, at the last step that asks for fewer. (The
original goes to the first step that asks for more: a present step that was lowered from 50 % to 40 % began the step of
100 % without an approval.) Pauses and thresholds are not part of a plan's hash: they take effect
immediately. Invariant: a step that did not change is not begun again, so an edit of later steps resets no approval and
no timer (the original begins the present step again on any edit).
"""

from controller.api.quantity import planned_replicas
from controller.api.rollout import RolloutStatus
from controller.domain import reasons
from controller.domain.decision import Note
from controller.domain.rollout.jump import following, go_to
from controller.domain.rollout.release_context import (
    ReleaseContext,
    canary_status,
    moonshift_status,
)
from controller.domain.rollout.status import with_canary, with_moonshift_status
from controller.domain.rollout.transition import Continue


def plan_was_edited(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The plan changed since the status was written."""
    known = canary_status(status).rollout_hash
    return bool(known) and known != context.seen.plan_hash


def place_in_plan(context: ReleaseContext, status: RolloutStatus) -> int:
    """The 1-based step of the present plan in which the step before the edit goes on."""
    ours = moonshift_status(status)
    steps = range(1, len(context.steps) + 1)
    # A release begun by an older version has not recorded the pods of its step.
    if not ours.step_plan:
        return min(ours.step, len(context.steps))
    target = planned_replicas(ours.step_replicas, context.replicas)
    if ours.step in steps and context.batch(ours.step) >= target:
        return ours.step
    fewer = max((index for index in steps if context.batch(index) < target), default=1)
    return next((index for index in steps if context.batch(index) == target), fewer)


def replan(context: ReleaseContext, status: RolloutStatus) -> Continue | None:
    """Continue with the edited plan; None when it was not edited."""
    if not plan_was_edited(context, status):
        return None
    ours = moonshift_status(status)
    index = place_in_plan(context, status)
    status = with_canary(status, rollout_hash=context.seen.plan_hash)
    text = f"the plan was edited in step({ours.step}): "
    if index == ours.step and ours.step_plan in (context.step(index).identity, ""):
        kept = with_canary(status, next_step_index=following(context, index))
        kept = with_moonshift_status(
            kept, step_plan=context.step(index).identity, step_replicas=context.step(index).replicas
        )
        return Continue(kept, (Note(reasons.REPLANNED, f"{text}the step goes on as it was"),))
    message = f"{text}the release goes on at the start of step({index}/{len(context.steps)})"
    return Continue(go_to(context, status, index), (Note(reasons.REPLANNED, message),))
