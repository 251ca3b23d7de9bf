"""Jumps to a step other than the following one: at a person's request, or after the plan was edited.

`nextStepIndex` is a mailbox: a client writes a step number other than the following one into it. It cannot express "the
following step, without waiting for this one", and writing it twice is not safe, so `moonshift jump` writes its request
into our own part of the status. Clients of the original repeat their write until they see a state other than
StepPaused, so after such a jump the next StepPaused is entered at least `SEEN_BY_ALL` later, as after an approval.
Invariant: a jump changes the step only; it never removes pods of the new revision.
"""

from controller.api.rollout import StepState
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.rollout.approvals.analysing import kept_runs
from controller.domain.rollout.approvals.checking import kept_checks
from controller.domain.rollout.approvals.pause import SEEN_BY_ALL
from controller.domain.rollout.approvals.unsigned import signed
from controller.domain.rollout.words.release_context import Style
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.step_history import opened
from controller.domain.rollout.words.transition import Continue
from controller.domain.traffic.plan.traffic_plan import share_of

NONE_FOLLOWS = -1
"""`nextStepIndex` at the last step."""


def following(release: Release, index: int) -> int:
    """The 1-based step after `index`, in the form of `nextStepIndex`."""
    return index + 1 if index < len(release.steps) else NONE_FOLLOWS


def go_to(release: Release, index: int) -> Release:
    """At the start of step `index`."""
    step = release.step(index)
    moved = release.noting(
        step=index,
        jump=0,
        step_plan=step.identity,
        step_replicas=step.replicas,
        analyses=kept_runs(release.ours.analyses),
        checks=kept_checks(release.ours.checks),
        visits=opened(release.ours.visits, index, release.now),
    )
    moved = moved.showing(current_step_index=index, next_step_index=following(release, index))
    return moved.entering(StepState.BEFORE_STEP_UPGRADE)


def wanted_step(release: Release) -> int | None:
    """The step that somebody asked for (it may not exist), or None."""
    ours = release.ours
    if ours.jump:
        return ours.jump
    mailbox = release.shown.next_step_index
    # 0 is the initial value in a status of another controller.
    return None if mailbox in (following(release, ours.step), NONE_FOLLOWS, 0) else mailbox


def old_pods_are_going(release: Release, here: int, to: int) -> bool:
    """A jump away from a step that replaces all pods: the stable Service would be pinned to pods that are being
    removed.
    """
    return (
        release.target(here).replaces_all
        and release.old_revision_runs
        and release.batch(to) < release.replicas
    )


def _load_of_old_pods(release: Release, to: int) -> str:
    """A jump back in partition style leaves few old pods, and sends most requests to them."""
    share, new = share_of(release.step(to).traffic), len(release.new_pods)
    if release.style is not Style.PARTITION or share is None or new <= release.batch(to):
        return ""
    old = max(0, release.replicas - new)
    return f": no new pod is removed, so {old} old pods of {release.replicas} get {100 - share:g} % of the requests"


def _index_reset(release: Release) -> Continue | None:
    """Reset `currentStepIndex`, which is no mailbox, and a `nextStepIndex` that asks for no step: both report the
    step of the release.
    """
    written, here = release.shown.current_step_index, release.ours.step
    restored = release.showing(current_step_index=here, next_step_index=following(release, here))
    if written == here:
        return restored.go_on() if restored.status != release.status else None
    why = (
        f"currentStepIndex was changed to {written} by hand and is reset: the release is at step({here}); "
        "another step is asked for by nextStepIndex, or by moonshift jump"
    )
    return restored.go_on(Note(reasons.JUMP_IGNORED, why, Severity.WARNING))


def read_jump(release: Release) -> Continue | None:
    """Go to the requested step, or reset the request with a message; None when there is none."""
    index = wanted_step(release)
    if index is None:
        return _index_reset(release)
    here, steps = release.ours.step, len(release.steps)
    if not 1 <= index <= steps or old_pods_are_going(release, here, index):
        emptied = release.noting(jump=0).showing(next_step_index=following(release, here))
        known = f"the plan has steps 1 to {steps}"
        going = (
            f"step({here}) takes all pods, and the old ones are going: wait for it, or roll back"
        )
        text = going if 1 <= index <= steps else known
        why = f"a jump to step({index}) was reset: {text}"
        return emptied.go_on(Note(reasons.JUMP_IGNORED, why, Severity.WARNING))
    text = f"jumped from step({here}) to step({index}){_load_of_old_pods(release, index)}"
    not_before = None if release.ours.jump else release.now + SEEN_BY_ALL
    recorded = signed(release, index)
    moved = go_to(recorded, index).noting(pause_not_before=not_before)
    return moved.go_on(Note(reasons.JUMPED, text))
