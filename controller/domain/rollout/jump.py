"""Going to another step than the one that follows: a person's wish, or a plan that was edited.

`nextStepIndex` is a mailbox: a client writes the step it wants there, any that does not simply follow. That cannot say
"the next one, without waiting for this one", nor is it safe to repeat, so `moonshift jump` leaves its wish in our own
part of the status. Invariant: a jump moves the position only; pods of the new revision are never taken away by one.
"""

from controller.api.rollout import RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.rollout.situation import Situation, canary_status, position
from controller.domain.rollout.status import enter, with_canary, with_position
from controller.domain.rollout.turn import Advance
from controller.domain.rollout.visits import opened

NONE_FOLLOWS = -1
"""`nextStepIndex` at the last step."""


def following(sit: Situation, index: int) -> int:
    """The 1-based step after `index`, as `nextStepIndex` says it."""
    return index + 1 if index < len(sit.steps) else NONE_FOLLOWS


def go_to(sit: Situation, status: RolloutStatus, index: int) -> RolloutStatus:
    """At the start of step `index`."""
    step = sit.step(index)
    moved = with_position(
        status,
        step=index,
        jump=0,
        step_plan=step.identity,
        step_replicas=step.replicas,
        visits=opened(position(status).visits, index, sit.now),
    )
    moved = with_canary(moved, current_step_index=index, next_step_index=following(sit, index))
    return enter(moved, StepState.BEFORE_STEP_UPGRADE, sit.now)


def wanted_step(sit: Situation, status: RolloutStatus) -> int | None:
    """The step somebody asked for (it may not exist), or None."""
    ours = position(status)
    if ours.jump:
        return ours.jump
    mailbox = canary_status(status).next_step_index
    # 0 is what a status of another make says before it knows better.
    return None if mailbox in (following(sit, ours.step), NONE_FOLLOWS, 0) else mailbox


def old_pods_are_going(sit: Situation, here: int, to: int) -> bool:
    """A jump out of a step that takes all pods: the stable Service would be pinned to pods that go."""
    return sit.takes_all(here) and sit.old_revision_runs and sit.batch(to) < sit.replicas


def _index_put_back(status: RolloutStatus) -> Advance | None:
    """`currentStepIndex` says where the release is; it is no mailbox."""
    written, here = canary_status(status).current_step_index, position(status).step
    if written == here:
        return None
    why = (
        f"currentStepIndex was changed to {written} by hand and is put back: the release is at step({here}); "
        "another step is asked for by nextStepIndex, or by moonshift jump"
    )
    restored = with_canary(status, current_step_index=here)
    return Advance(restored, (Note(reasons.JUMP_IGNORED, why, Severity.WARNING),))


def read_jump(sit: Situation, status: RolloutStatus) -> Advance | None:
    """Go where somebody asked to go, or put the wish back with a word; None when there is none."""
    index = wanted_step(sit, status)
    if index is None:
        return _index_put_back(status)
    here, steps = position(status).step, len(sit.steps)
    if not 1 <= index <= steps or old_pods_are_going(sit, here, index):
        emptied = with_canary(with_position(status, jump=0), next_step_index=following(sit, here))
        known = f"the plan has steps 1 to {steps}"
        going = (
            f"step({here}) takes all pods, and the old ones are going: wait for it, or roll back"
        )
        text = going if 1 <= index <= steps else known
        why = f"a jump to step({index}) was put back: {text}"
        return Advance(emptied, (Note(reasons.JUMP_IGNORED, why, Severity.WARNING),))
    text = f"jumped from step({here}) to step({index})"
    return Advance(go_to(sit, status, index), (Note(reasons.JUMPED, text),))
