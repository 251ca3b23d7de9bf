"""Finds the present step of a release in a plan that was edited during a release.

The present step stays the present one if it asks for at least as many pods as before. If it asks for fewer, the release
goes on at the first step that asks for as many as before; if there is none, at the last step that asks for fewer. (The
original goes to the first step that asks for more: a present step that was lowered from 50 % to 40 % began the step of
100 % without an approval.) Pauses and thresholds are not part of a plan's hash: they take effect
immediately. Invariant: a step that did not change is not begun again, so an edit of later steps resets no approval and
no timer (the original begins the present step again on any edit).
"""

from controller.api.quantity import planned_replicas
from controller.domain import reasons
from controller.domain.decision import Note
from controller.domain.rollout.approvals.jump import following, go_to
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Continue


def plan_was_edited(release: Release) -> bool:
    """The plan changed since the status was written."""
    known = release.shown.rollout_hash
    return bool(known) and known != release.seen.plan_hash


def place_in_plan(release: Release) -> int:
    """The 1-based step of the present plan in which the step before the edit goes on."""
    ours = release.ours
    steps = range(1, len(release.steps) + 1)
    # A release begun by an older version has not recorded the pods of its step.
    if not ours.step_plan:
        return min(ours.step, len(release.steps))
    target = planned_replicas(ours.step_replicas, release.replicas)
    if ours.step in steps and release.batch(ours.step) >= target:
        return ours.step
    fewer = max((index for index in steps if release.batch(index) < target), default=1)
    return next((index for index in steps if release.batch(index) == target), fewer)


def replan(release: Release) -> Continue | None:
    """Continue with the edited plan; None when it was not edited."""
    if not plan_was_edited(release):
        return None
    ours = release.ours
    index = place_in_plan(release)
    release = release.showing(rollout_hash=release.seen.plan_hash)
    text = f"the plan was edited in step({ours.step}): "
    if index == ours.step and ours.step_plan in (release.step(index).identity, ""):
        kept = release.showing(next_step_index=following(release, index))
        kept = kept.noting(
            step_plan=release.step(index).identity, step_replicas=release.step(index).replicas
        )
        return kept.go_on(Note(reasons.REPLANNED, f"{text}the step goes on as it was"))
    message = f"{text}the release goes on at the start of step({index}/{len(release.steps)})"
    return go_to(release, index).go_on(Note(reasons.REPLANNED, message))
