"""Jumps to a step other than the following one: at a person's request, or after the plan was edited.

`nextStepIndex` is a mailbox: a client writes a step number other than the following one into it. It cannot express "the
following step, without waiting for this one", and writing it twice is not safe, so `moonshift jump` writes its request
into our own part of the status. Clients of the original repeat their write until they see a state other than
StepPaused, so after such a jump the next StepPaused is entered at least `SEEN_BY_ALL` later, as after an approval.
Invariant: a jump changes the step only; it never removes pods of the new revision.
"""

from controller.api.rollout import RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.rollout.analysing import kept_runs
from controller.domain.rollout.pause import SEEN_BY_ALL
from controller.domain.rollout.release_context import (
    ReleaseContext,
    Style,
    canary_status,
    moonshift_status,
)
from controller.domain.rollout.status import enter, with_canary, with_moonshift_status
from controller.domain.rollout.step_history import opened
from controller.domain.rollout.transition import Continue
from controller.domain.rollout.unsigned import signed
from controller.domain.traffic.plan.traffic_plan import share_of

NONE_FOLLOWS = -1
"""`nextStepIndex` at the last step."""


def following(context: ReleaseContext, index: int) -> int:
    """The 1-based step after `index`, in the form of `nextStepIndex`."""
    return index + 1 if index < len(context.steps) else NONE_FOLLOWS


def go_to(context: ReleaseContext, status: RolloutStatus, index: int) -> RolloutStatus:
    """At the start of step `index`."""
    step = context.step(index)
    moved = with_moonshift_status(
        status,
        step=index,
        jump=0,
        step_plan=step.identity,
        step_replicas=step.replicas,
        analyses=kept_runs(moonshift_status(status).analyses),
        visits=opened(moonshift_status(status).visits, index, context.now),
    )
    moved = with_canary(moved, current_step_index=index, next_step_index=following(context, index))
    return enter(moved, StepState.BEFORE_STEP_UPGRADE, context.now)


def wanted_step(context: ReleaseContext, status: RolloutStatus) -> int | None:
    """The step that somebody asked for (it may not exist), or None."""
    ours = moonshift_status(status)
    if ours.jump:
        return ours.jump
    mailbox = canary_status(status).next_step_index
    # 0 is the initial value in a status of another controller.
    return None if mailbox in (following(context, ours.step), NONE_FOLLOWS, 0) else mailbox


def old_pods_are_going(context: ReleaseContext, here: int, to: int) -> bool:
    """A jump away from a step that replaces all pods: the stable Service would be pinned to pods that are being
    removed.
    """
    return (
        context.takes_all(here)
        and context.old_revision_runs
        and context.batch(to) < context.replicas
    )


def _load_of_old_pods(context: ReleaseContext, to: int) -> str:
    """A jump back in partition style leaves few old pods, and sends most requests to them."""
    share, new = share_of(context.step(to).traffic), len(context.new_pods)
    if context.style is not Style.PARTITION or share is None or new <= context.batch(to):
        return ""
    old = max(0, context.replicas - new)
    return f": no new pod is removed, so {old} old pods of {context.replicas} get {100 - share:g} % of the requests"


def _index_reset(context: ReleaseContext, status: RolloutStatus) -> Continue | None:
    """Reset `currentStepIndex`, which is no mailbox, and a `nextStepIndex` that asks for no step: both report the
    step of the release.
    """
    written, here = canary_status(status).current_step_index, moonshift_status(status).step
    restored = with_canary(
        status, current_step_index=here, next_step_index=following(context, here)
    )
    if written == here:
        return Continue(restored) if restored != status else None
    why = (
        f"currentStepIndex was changed to {written} by hand and is reset: the release is at step({here}); "
        "another step is asked for by nextStepIndex, or by moonshift jump"
    )
    return Continue(restored, (Note(reasons.JUMP_IGNORED, why, Severity.WARNING),))


def read_jump(context: ReleaseContext, status: RolloutStatus) -> Continue | None:
    """Go to the requested step, or reset the request with a message; None when there is none."""
    index = wanted_step(context, status)
    if index is None:
        return _index_reset(context, status)
    here, steps = moonshift_status(status).step, len(context.steps)
    if not 1 <= index <= steps or old_pods_are_going(context, here, index):
        emptied = with_canary(
            with_moonshift_status(status, jump=0), next_step_index=following(context, here)
        )
        known = f"the plan has steps 1 to {steps}"
        going = (
            f"step({here}) takes all pods, and the old ones are going: wait for it, or roll back"
        )
        text = going if 1 <= index <= steps else known
        why = f"a jump to step({index}) was reset: {text}"
        return Continue(emptied, (Note(reasons.JUMP_IGNORED, why, Severity.WARNING),))
    text = f"jumped from step({here}) to step({index}){_load_of_old_pods(context, index)}"
    not_before = None if moonshift_status(status).jump else context.now + SEEN_BY_ALL
    recorded = signed(context, status, index)
    moved = with_moonshift_status(go_to(context, recorded, index), pause_not_before=not_before)
    return Continue(moved, (Note(reasons.JUMPED, text),))
