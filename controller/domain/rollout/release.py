"""One release from its admission to its end: its disturbances, in order of rank, and its steps.

`decide_release` checks disturbances in the order of their rank: a rollback outranks a pause (the original checked
nothing while paused, D12), and a new template is noticed in every state, the end included (D11).
"""

from datetime import datetime

from msgspec import UNSET, structs

from controller.api.rollout import (
    FinalisingStep,
    Phase,
    RolloutStatus,
    StepState,
)
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.history import Outcome
from controller.domain.rollout import messages, restoring, routing, services
from controller.domain.rollout.analysing import Watched, watched
from controller.domain.rollout.batches import batch_is_ready
from controller.domain.rollout.beginning import (
    begin,
    check_before_the_first_move,
    in_rolling,
    stable_after,
)
from controller.domain.rollout.deadline import held_up, with_deadline
from controller.domain.rollout.empty_side_routes import new_side_is_led_away
from controller.domain.rollout.ends import End, abandoned, rolled_back_by
from controller.domain.rollout.finalising import Goal, finalise
from controller.domain.rollout.jump import go_to, read_jump
from controller.domain.rollout.kept import GOALS_UNDER_FREEZE
from controller.domain.rollout.moving import surplus_new_pods
from controller.domain.rollout.moving.choice import mechanism_of
from controller.domain.rollout.moving.freezing import (
    freeze_again,
    lost_its_freeze,
    lost_its_record,
    values_are_lost,
)
from controller.domain.rollout.moving.older_pods import (
    only_older_pods_are_in_the_way,
    with_stable_pods_returning,
)
from controller.domain.rollout.moving.rebuilding import rebuilt
from controller.domain.rollout.moving.stable_gone import stable_is_gone
from controller.domain.rollout.naming import new_in_words
from controller.domain.rollout.pause import read_mailbox
from controller.domain.rollout.record import recorded
from controller.domain.rollout.release_context import (
    ReleaseContext,
    Style,
    known_template,
    moonshift_status,
)
from controller.domain.rollout.replanning import replan
from controller.domain.rollout.returning import (
    observed_id,
    returning_id,
    returns_in_batches,
    still_returning,
)
from controller.domain.rollout.showing import about_this_template, counted
from controller.domain.rollout.status import (
    condition,
    enter,
    progressing,
    with_canary,
    with_condition,
    with_moonshift_status,
    without_condition,
)
from controller.domain.rollout.step_history import opened
from controller.domain.rollout.steps import decide_step
from controller.domain.rollout.stuck import selects_no_new_pod
from controller.domain.rollout.transition import Continue, Stop, Transition
from controller.domain.rollout.way_out import is_before_the_first_move
from controller.domain.traffic.drift.policy import DRIFTED

# --- disturbances -------------------------------------------------------------------------------


def workload_was_replaced(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The workload was deleted and created again under the same name."""
    uid = moonshift_status(status).workload_uid
    return bool(uid) and uid != context.meta.uid


def rolled_back(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The template is that of the stable revision again, and the release does not know it yet.

    Perhaps the template was changed back before a pass saw the release.
    """
    ours = moonshift_status(status)
    back = bool(ours.stable_template) and context.template_hash == ours.stable_template
    known_already = ours.by_id or ours.goal == Goal.ROLLBACK or still_returning(context, status)
    return back and not known_already


def another_revision_came(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The template is neither the release's nor the stable one, or pods of an abandoned revision are still being
    removed.
    """
    return moonshift_status(status).goal == Goal.CONTINUOUS or not _expected(context, status)


def stable_comes_first(context: ReleaseContext, status: RolloutStatus) -> bool:
    """Whether stable pods have to return before a revision is abandoned: pods of that revision run in their place, and
    the Deployment's controller would fill its emptied ReplicaSet again.

    Not after the last approval: an undo then leads to the approved revision.
    """
    goal = moonshift_status(status).goal
    returning = goal == Goal.SCALED_AWAY
    return goal != Goal.SUCCESS and mechanism_of(context).stable_returns_first(
        context, status, returning=returning
    )


def scaled_away(context: ReleaseContext) -> bool:
    """The workload was scaled to zero: there is no pod to release, and none for routes to reach."""
    return context.replicas == 0


def _expected(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The workload has the template of this release."""
    if moonshift_status(status).goal == Goal.ROLLBACK:
        return context.template_hash == moonshift_status(status).stable_template
    return context.template_hash == known_template(status)


def decide_release(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """The next transition of a release under way."""
    status = routing.noted_routes(context, status)
    status = with_canary(status, observed_workload_generation=context.meta.generation)
    if workload_was_replaced(context, status):
        return workload_gone(context, status)
    if rolled_back(context, status):
        in_batches = returns_in_batches(context, status) and not moonshift_status(status).returning
        return _roll_back_in_batches(context, status) if in_batches else _cancel(context, status)
    frozen = moonshift_status(status).goal in GOALS_UNDER_FREEZE
    if lost_its_freeze(context) if frozen else lost_its_record(context):
        return _freeze_again(context, status)
    return _decide_by_goal(context, status)


def _freeze_again(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """Somebody removed the freeze or the marks while no webhook could prevent it: restore them before all else."""
    problem = values_are_lost(context, status)
    if problem is not None:
        return Stop(status, problem=problem)
    note = Note(reasons.HELD_AGAIN, messages.HELD_AGAIN, Severity.WARNING)
    action = freeze_again(context, status)
    if stable_is_gone(context, status) is not None:
        status = with_moonshift_status(status, went_on=True)
    if moonshift_status(status).state in STATES_AFTER_PODS:
        # The admission pause ends with the step's own pods.
        status = enter(status, StepState.STEP_UPGRADE, context.now)
    return Stop(status, (action,), notes=(note,))


STATES_AFTER_PODS = (
    StepState.STEP_TRAFFIC_ROUTING,
    StepState.STEP_METRICS_ANALYSIS,
    StepState.STEP_PAUSED,
)
"""States of a step whose pods were created and ready."""


def _decide_by_goal(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """The next transition of a release whose workload has the freeze and the record that its goal needs."""
    goal = moonshift_status(status).goal
    stable = rebuilt(context, status)
    if stable is not None:
        return stable
    if another_revision_came(context, status):
        first = stable_comes_first(context, status)
        return _return_from_zero(context, status) if first else _start_over(context, status)
    # The end of a release that was scaled to zero is no end: the release begins again below.
    if goal and goal != Goal.SCALED_AWAY:
        return _end(context, status, Goal(goal))
    status = counted(context, about_this_template(context, status))
    if goal or scaled_away(context):
        return _return_from_zero(context, status)
    if only_older_pods_are_in_the_way(context, status):
        return with_stable_pods_returning(context, status, _continue(context, status))
    if mechanism_of(context).returned_as_new(context, status):
        return _return_from_zero(context, status)
    if mechanism_of(context).too_many_are_new(context, status):
        return surplus_new_pods.begin_exchange(status)
    if new_side_is_led_away(context, status):
        return _withdraw(context, status)
    return _continue(context, status)


def continue_exchange(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """A DaemonSet has its stable template for a short time: the exchange ends before anything else is decided."""
    stop = surplus_new_pods.exchange(context, status)
    if stop is None:
        return Continue(with_moonshift_status(status, template_exchange=""))
    return with_deadline(context, stop)


def own_template_first(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """However a release ends, the workload has the template that its owner asked for."""
    return (
        surplus_new_pods.template_restored(context, status)
        if context.seen.workload is not None
        else None
    )


def _continue(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """The next transition of a release without a disturbance: people's wishes come first, then the step."""
    if context.seen.rollout.spec.strategy.paused:
        paused = progressing(status, reasons.PAUSED, messages.PAUSED, context.now)
        return held_up(context, Stop(paused))
    wish = replan(context, status) or read_jump(context, status) or read_mailbox(context, status)
    if wish is not None:
        return wish
    if is_before_the_first_move(status):
        return check_before_the_first_move(context, status)
    if moonshift_status(status).state == StepState.COMPLETED:
        # The goal is written before any change: after a crash halfway, a step would otherwise undo the end, and
        # freeze a workload whose owner's values are restored already.
        going = ending(status, Goal.SUCCESS, context.now)
        return Stop(progressing(going, reasons.FINALISING, messages.FINALISING, context.now))
    if _is_admitted_again_without_its_pods(context, status):
        return Continue(enter(status, StepState.STEP_UPGRADE, context.now))
    background = watched(context, _refreshed(context, status))
    if background.stop is not None:
        return held_up(context, background.stop)
    return _with_background_run(
        background, _with_problem(context, decide_step(context, background.status))
    )


def _is_admitted_again_without_its_pods(context: ReleaseContext, status: RolloutStatus) -> bool:
    """Admission has paused the workload once more, past the move of this step, and the step's pods are gone.

    A Deployment whose ReplicaSets were deleted, and whose template changed away and back before the next pass, kept
    the pause and had no pod at all.
    """
    ours = moonshift_status(status)
    return (
        context.admission_paused
        and context.style is not Style.CANARY
        and ours.state in STATES_AFTER_PODS
        and not batch_is_ready(context, ours.step, context.ready(context.new_pods))
    )


def _with_background_run(background: Watched, transition: Transition) -> Transition:
    """The transition of the step, with the actions of the background gate."""
    if background.wake is None or isinstance(transition, Continue):
        return transition
    times = [time for time in (transition.wake_at, background.wake.wake_at) if time is not None]
    actions = (*transition.actions, *background.wake.actions)
    return structs.replace(transition, actions=actions, wake_at=min(times, default=None))


def _refreshed(context: ReleaseContext, status: RolloutStatus) -> RolloutStatus:
    """The owner's rollout id may change during a release; the same template may have been admitted again.

    Before the first move, the running revision becomes stable when no stable revision is recorded. A recorded one is
    never replaced here: a workload that returns from zero replicas gets its newest revision from its own controller.
    """
    status = with_canary(status, observed_rollout_id=observed_id(context, status))
    if (
        context.admission_paused
        and not context.returning
        and not moonshift_status(status).stable_revision
    ):
        revision, template = stable_after(context, status)
        status = with_canary(status, stable_revision=revision)
        status = with_moonshift_status(
            status,
            stable_revision=revision,
            stable_template=template,
        )
    return (
        with_moonshift_status(status, release=context.release)
        if context.owners is not None
        else status
    )


def _with_problem(context: ReleaseContext, transition: Transition) -> Transition:
    """Report a missing object: the stable version, a Service or a gateway object."""
    if isinstance(transition, Continue):
        return transition
    missing = (
        stable_is_gone(context, transition.status)
        or services.unusable_services(context, transition.status)
        or routing.unreadable_routes(context, transition.status)
        or selects_no_new_pod(context, transition.status)
    )
    return with_deadline(
        context, structs.replace(transition, problem=transition.problem or missing)
    )


def _withdraw(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """Send all traffic to stable, and begin the step again by creating its pods; deeper gateway objects stay for it."""
    actions = restoring.restore_depth_zero(context, status)
    if not actions:
        return Stop(status)
    status = enter(status, StepState.STEP_UPGRADE, context.now)
    status = with_moonshift_status(status, endpoints_ready_since={})
    step = moonshift_status(status).step
    text = f"step({step}): no pod of the new version is ready; its traffic goes to the stable one"
    note = Note(reasons.TRAFFIC_WITHDRAWN, text, Severity.WARNING)
    return Stop(
        progressing(status, reasons.IN_ROLLING, text, context.now),
        actions,
        notes=(note,),
    )


def _cancel(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """The workload was changed back: revert the changes of the release."""
    status = ending(status, Goal.ROLLBACK, context.now)
    status = with_moonshift_status(status, state=StepState.COMPLETED, returning=False)
    status = with_canary(
        about_this_template(context, status), current_step_state=StepState.COMPLETED
    )
    note = Note(reasons.RELEASE_CANCELING, messages.CANCELLING)
    return Continue(
        progressing(status, reasons.CANCELLING, messages.CANCELLING, context.now), (note,)
    )


def _roll_back_in_batches(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """The workload was changed back, and its owner wants to go back step by step."""
    ours = moonshift_status(status)
    record = recorded(context, status, Outcome.ROLLED_BACK)
    end = rolled_back_by(status)
    begun = begin(context, status, (ours.stable_revision, ours.stable_template))
    status = with_moonshift_status(begun.status, returning=True)
    status = with_canary(status, observed_rollout_id=returning_id(context))
    note = Note(reasons.RELEASE_RESTARTED, messages.RETURNING, Severity.WARNING, ended=end)
    # The status is written before anything else: the number of pods that a step wants depends on it.
    return Stop(status, record, notes=(note, *begun.notes))


def _start_over(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """Revert the changes of the abandoned release, then begin again with the present template."""
    stable = stable_after(context, status)
    status = progressing(status, reasons.INITIALIZING, messages.CONTINUOUS, context.now)
    status = ending(status, Goal.CONTINUOUS, context.now)
    status = with_moonshift_status(status, stable_revision=stable[0], stable_template=stable[1])
    stop = finalise(context, status, Goal.CONTINUOUS)
    if stop is not None:
        return stop
    note = Note(
        reasons.RELEASE_RESTARTED,
        "workload continuous publishing canaryRevision, then restart publishing",
        Severity.WARNING,
        ended=End.SUPERSEDED,
    )
    record = recorded(context, status, Outcome.SUPERSEDED)
    begun = begin(context, status, stable)
    return structs.replace(begun, notes=(note, *begun.notes), actions=record)


def _without_pods(context: ReleaseContext) -> str:
    """A DaemonSet has no replicas: it has no pods if it has no nodes."""
    by_nodes = context.kind is not None and not context.kind.has_replicas
    return messages.NODES_AWAY if by_nodes else messages.SCALED_AWAY


def _return_from_zero(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """Scaled to zero: restore traffic, and make sure that only the stable revision returns, at step 1.

    If it already returned as the new revision, the step begins again with no new pod.
    """
    if moonshift_status(status).goal != Goal.SCALED_AWAY:
        # The goal is written first: a paused workload without stable pods may have lost them in another way.
        begun = with_moonshift_status(status, goal=Goal.SCALED_AWAY, goal_since=None)
        return Stop(progressing(begun, reasons.IN_ROLLING, _without_pods(context), context.now))
    # At zero replicas the release waits for people, without a limit; after that, for pods.
    since = None if scaled_away(context) else moonshift_status(status).goal_since or context.now
    status = with_moonshift_status(status, goal_since=since)
    stop = finalise(context, status, Goal.SCALED_AWAY)
    if stop is not None:
        return with_deadline(context, stop)
    if (moonshift_status(status).step, moonshift_status(status).state) != (
        1,
        StepState.BEFORE_STEP_UPGRADE,
    ):
        status = with_moonshift_status(status, endpoints_ready_since={})
        status = with_canary(status, finalising_step=FinalisingStep.NONE)
        status = go_to(context, status, 1)
        status = with_moonshift_status(status, visits=opened((), 1, context.now))
    if scaled_away(context):
        return Stop(progressing(status, reasons.IN_ROLLING, _without_pods(context), context.now))
    going_on = with_moonshift_status(
        status, goal="", goal_since=None, held_up_since=None, worked_since=None
    )
    return Continue(in_rolling(context, going_on))


def workload_gone(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """The workload of a release is gone: restore traffic without it, then start from nothing (D08)."""
    stop = finalise(context, status, Goal.WORKLOAD_GONE)
    if stop is not None:
        return stop
    return Continue(
        structs.replace(
            status.with_release(None), phase=Phase.INITIAL, moonshift=UNSET, conditions=()
        ),
        (abandoned(End.WORKLOAD_DELETED),),
        actions=recorded(context, status, Outcome.WORKLOAD_DELETED),
    )


# --- the end ------------------------------------------------------------------------------------


def _end(context: ReleaseContext, status: RolloutStatus, goal: Goal) -> Transition:
    """Carry out the sequence of the goal; then the release is over."""
    status = ending(status, goal, context.now)
    stop = finalise(context, status, goal)
    if stop is not None:
        return with_deadline(context, stop)
    won = goal is Goal.SUCCESS
    text = messages.COMPLETED if won else messages.CANCELED
    status = with_condition(status, "Succeeded", "True" if won else "False", "", "", context.now)
    status = progressing(status, reasons.COMPLETED, text, context.now)
    note = Note(
        reasons.RELEASE_COMPLETED if won else reasons.RELEASE_CANCELED,
        f"{new_in_words(context)}: {text}",
        ended=End.SUCCEEDED if won else rolled_back_by(status),
    )
    outcome = Outcome.SUCCEEDED if won else Outcome.ROLLED_BACK
    return Continue(ended(context, status), (note,), recorded(context, status, outcome))


def ending(status: RolloutStatus, goal: Goal, now: datetime) -> RolloutStatus:
    """The release ends for this reason; the clock of its end starts now."""
    ours = moonshift_status(status)
    since = ours.goal_since if ours.goal == goal else None
    return with_moonshift_status(status, goal=goal, goal_since=since or now)


def ended(context: ReleaseContext, status: RolloutStatus) -> RolloutStatus:
    """The status without a release under way."""
    status = without_condition(enter(status, StepState.COMPLETED, context.now), DRIFTED)
    status = with_canary(status, finalising_step=FinalisingStep.END, next_step_index=-1)
    return with_moonshift_status(
        status,
        goal="",
        goal_since=None,
        held_up_since=None,
        worked_since=None,
        release="",
        older_revisions=(),
        services_empty_before=(),
        routed_at=None,
        route_plan="",
        returning=False,
        by_id=False,
        empty_sides={},
    )


def completed(status: RolloutStatus) -> bool:
    """The release under way has ended."""
    found = condition(status, "Progressing")
    return found is not None and found.reason == reasons.COMPLETED
