"""A disturbance of a release: a question, and its answer where the question is met. The questions are here.

Why: the order of the questions is the design of a release, so it stands in tables (`phases.DISTURBANCES`), and the
documents print them. Invariants: the first question that is met answers, and the questions after it are not asked; no
question changes a status.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from controller.api.rollout import StepState
from controller.domain.rollout.moving.batches import batch_is_ready
from controller.domain.rollout.moving.freezing import lost_its_freeze, lost_its_record
from controller.domain.rollout.moving.returning import still_returning
from controller.domain.rollout.styles.choice import mechanism_of
from controller.domain.rollout.trouble.kept import GOALS_UNDER_FREEZE
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.release_context import Style, known_template
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Transition
from controller.domain.rollout.words.way_out import is_before_the_first_move

Answer = Callable[[Release], Transition]
Attempt = Callable[[Release], Transition | None]


class Disturbance(NamedTuple):
    """One row: the words of the documents, and the answer, which is None where the question is not met."""

    words: str
    answered: Attempt


def when(question: Callable[[Release], bool], answer: Answer) -> Attempt:
    """The answer if the question is met."""
    return lambda release: answer(release) if question(release) else None


def first_answer(disturbances: Sequence[Disturbance], release: Release) -> Transition | None:
    """The answer to the first disturbance in the order of the table; None if there is none."""
    answers = (disturbance.answered(release) for disturbance in disturbances)
    return next((answer for answer in answers if answer is not None), None)


STATES_AFTER_PODS = (
    StepState.STEP_TRAFFIC_ROUTING,
    StepState.STEP_METRICS_ANALYSIS,
    StepState.STEP_PAUSED,
)
"""States of a step whose pods were created and ready."""


# --- the questions ------------------------------------------------------------------------------


def workload_was_replaced(release: Release) -> bool:
    """The workload was deleted and created again under the same name."""
    uid = release.ours.workload_uid
    return bool(uid) and uid != release.meta.uid


def rolled_back(release: Release) -> bool:
    """The template is that of the stable revision again, and the release does not know it yet.

    Perhaps the template was changed back before a pass saw the release.
    """
    ours = release.ours
    back = bool(ours.stable_template) and release.template_hash == ours.stable_template
    known_already = ours.by_id or ours.goal == Goal.ROLLBACK or still_returning(release)
    return back and not known_already


def another_revision_came(release: Release) -> bool:
    """The template is neither the release's nor the stable one, or pods of an abandoned revision are still being
    removed.
    """
    return release.ours.goal == Goal.CONTINUOUS or not _expected(release)


def stable_comes_first(release: Release) -> bool:
    """Whether stable pods have to return before a revision is abandoned: pods of that revision run in their place, and
    the Deployment's controller would fill its emptied ReplicaSet again.

    Not after the last approval: an undo then leads to the approved revision.
    """
    goal = release.ours.goal
    returning = goal == Goal.SCALED_AWAY
    return goal != Goal.SUCCESS and mechanism_of(release).stable_returns_first(
        release, returning=returning
    )


def scaled_away(release: Release) -> bool:
    """The workload was scaled to zero: there is no pod to release, and none for routes to reach."""
    return release.replicas == 0


def _expected(release: Release) -> bool:
    """The workload has the template of this release."""
    if release.ours.goal == Goal.ROLLBACK:
        return release.template_hash == release.ours.stable_template
    return release.template_hash == known_template(release.status)


def lost_its_hold(release: Release) -> bool:
    """The workload has lost the freeze or the marks that the goal of its release needs."""
    frozen = release.ours.goal in GOALS_UNDER_FREEZE
    return lost_its_freeze(release) if frozen else lost_its_record(release)


def ends(release: Release) -> bool:
    """The release ends. The end of one that was scaled to zero is no end: it begins again."""
    return bool(release.ours.goal) and release.ours.goal != Goal.SCALED_AWAY


def is_or_was_scaled_away(release: Release) -> bool:
    """There is no pod to release, or there was none, and the stable pods are returning."""
    return bool(release.ours.goal) or scaled_away(release)


def returned_as_new(release: Release) -> bool:
    """The workload had no replicas, and returned as the new revision although the step leaves stable pods."""
    return mechanism_of(release).returned_as_new(release)


def too_many_are_new(release: Release) -> bool:
    """More pods are new than any step asked for."""
    return mechanism_of(release).too_many_are_new(release)


def is_paused(release: Release) -> bool:
    """The owner holds the release."""
    return release.seen.rollout.spec.strategy.paused


def has_not_moved(release: Release) -> bool:
    """The requirements of the release have not been checked yet."""
    return is_before_the_first_move(release.status)


def is_through(release: Release) -> bool:
    """All steps are done."""
    return release.ours.state == StepState.COMPLETED


def is_admitted_again_without_its_pods(release: Release) -> bool:
    """Admission has paused the workload once more, past the move of this step, and the step's pods are gone.

    A Deployment whose ReplicaSets were deleted, and whose template changed away and back before the next pass, kept
    the pause and had no pod at all.
    """
    ours = release.ours
    return (
        release.admission_paused
        and release.style is not Style.CANARY
        and ours.state in STATES_AFTER_PODS
        and not batch_is_ready(release, ours.step, release.ready(release.new_pods))
    )
