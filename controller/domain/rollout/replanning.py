"""A plan that was edited in mid-release: which of its steps the release is at.

The rule is the original's: the pods that the present step asked for are looked for in the new plan, first in the step
of the same number, then from the first on. Pauses and thresholds are not part of a plan's hash: they take effect where
they stand. Invariant: a step that says what it said before is not begun again, so an edit of later steps takes no
approval back and starts no timer anew (the original begins the present step again on any edit).
"""

from controller.api.quantity import planned_replicas
from controller.api.rollout import RolloutStatus
from controller.domain import reasons
from controller.domain.decision import Note
from controller.domain.rollout.jump import following, go_to
from controller.domain.rollout.situation import Situation, canary_status, position
from controller.domain.rollout.status import with_canary, with_position
from controller.domain.rollout.turn import Advance


def plan_was_edited(sit: Situation, status: RolloutStatus) -> bool:
    """The plan is not the one that the position is about."""
    known = canary_status(status).rollout_hash
    return bool(known) and known != sit.seen.plan_hash


def place_in_plan(sit: Situation, status: RolloutStatus) -> int:
    """The 1-based step of the present plan that asks for no fewer pods than the step we were at did."""
    ours = position(status)
    steps = range(1, len(sit.steps) + 1)
    # A release begun by an older version has not written down what its step asked for.
    if not ours.step_plan:
        return min(ours.step, len(sit.steps))
    target = planned_replicas(ours.step_replicas, sit.replicas)
    looked_at = (ours.step, *steps) if ours.step in steps else tuple(steps)
    return next((index for index in looked_at if sit.batch(index) >= target), len(sit.steps))


def replan(sit: Situation, status: RolloutStatus) -> Advance | None:
    """Take the edited plan up; None when it was not edited."""
    if not plan_was_edited(sit, status):
        return None
    ours = position(status)
    index = place_in_plan(sit, status)
    status = with_canary(status, rollout_hash=sit.seen.plan_hash)
    text = f"the plan was edited in step({ours.step}): "
    if index == ours.step and ours.step_plan in (sit.step(index).identity, ""):
        kept = with_canary(status, next_step_index=following(sit, index))
        kept = with_position(
            kept, step_plan=sit.step(index).identity, step_replicas=sit.step(index).replicas
        )
        return Advance(kept, (Note(reasons.REPLANNED, f"{text}the step goes on as it was"),))
    said = f"{text}the release goes on at the start of step({index}/{len(sit.steps)})"
    return Advance(go_to(sit, status, index), (Note(reasons.REPLANNED, said),))
