"""One release from its admission to its end: its disturbances, in order of rank, and its steps.

The tables at its end are the order of rank: a rollback outranks a pause (the original checked nothing while paused,
D12), and a new template is noticed in every state, the end included (D11).
"""

from msgspec import UNSET, structs

from controller.api.rollout import FinalisingStep, Phase, RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.history import Outcome
from controller.domain.rollout.approvals.analysing import Watched, watched
from controller.domain.rollout.approvals.jump import go_to, read_jump
from controller.domain.rollout.approvals.pause import read_mailbox
from controller.domain.rollout.approvals.replanning import replan
from controller.domain.rollout.beginning import (
    begin,
    check_before_the_first_move,
    in_rolling,
    stable_after,
)
from controller.domain.rollout.ends.finalising import finalise
from controller.domain.rollout.ends.reported import End, abandoned, rolled_back_by
from controller.domain.rollout.ends.telling import with_told
from controller.domain.rollout.moving import surplus_new_pods
from controller.domain.rollout.moving.freezing import freeze_again, values_are_lost
from controller.domain.rollout.moving.returning import observed_id, returning_id, returns_in_batches
from controller.domain.rollout.routes import restoring, routing, services
from controller.domain.rollout.routes.empty_side_routes import new_side_is_led_away
from controller.domain.rollout.steps import decide_step
from controller.domain.rollout.styles.older_pods import (
    only_older_pods_are_in_the_way,
    with_stable_pods_returning,
)
from controller.domain.rollout.trouble.deadline import held_up, with_deadline
from controller.domain.rollout.trouble.disturbances import (
    STATES_AFTER_PODS,
    Disturbance,
    another_revision_came,
    ends,
    first_answer,
    has_not_moved,
    is_admitted_again_without_its_pods,
    is_or_was_scaled_away,
    is_paused,
    is_through,
    lost_its_hold,
    returned_as_new,
    rolled_back,
    scaled_away,
    stable_comes_first,
    too_many_are_new,
    when,
    workload_was_replaced,
)
from controller.domain.rollout.trouble.rebuilding import rebuilt
from controller.domain.rollout.trouble.serving_alone import abandoned_pods_serve_alone
from controller.domain.rollout.trouble.stable_gone import stable_is_gone
from controller.domain.rollout.trouble.stuck import selects_no_new_pod
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.naming import new_in_words
from controller.domain.rollout.words.recording import recorded
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.showing import about_this_template, counted
from controller.domain.rollout.words.status import condition
from controller.domain.rollout.words.step_history import opened
from controller.domain.rollout.words.transition import Continue, Stop, Transition
from controller.domain.traffic.drift.policy import DRIFTED


def decide_release(release: Release) -> Transition:
    """The next transition of a release under way."""
    release = routing.noted_routes(release)
    release = release.showing(observed_workload_generation=release.meta.generation)
    return first_answer(OF_THE_WORKLOAD, release) or _with_its_pods(release)


def _with_its_pods(release: Release) -> Transition:
    """The next transition of a release whose workload has its template, its freeze and its record."""
    release = counted(about_this_template(release))
    return first_answer(OF_THE_PODS, release) or _continue(release)


def _continue(release: Release) -> Transition:
    """The next transition of a release whose pods are where its step left them."""
    return first_answer(OF_THE_STEP, release) or _step(release)


def _go_back(release: Release) -> Transition:
    in_batches = returns_in_batches(release) and not release.ours.returning
    return _roll_back_in_batches(release) if in_batches else _cancel(release)


def _make_room(release: Release) -> Transition:
    first = stable_comes_first(release)
    return _return_from_zero(release) if first else _start_over(release)


def _freeze_again(release: Release) -> Transition:
    """Somebody removed the freeze or the marks while no webhook could prevent it: restore them before all else."""
    problem = values_are_lost(release)
    if problem is not None:
        return release.stop(problem=problem)
    note = Note(reasons.HELD_AGAIN, messages.HELD_AGAIN, Severity.WARNING)
    action = freeze_again(release)
    if stable_is_gone(release) is not None:
        release = release.noting(went_on=True)
    if release.ours.state in STATES_AFTER_PODS:
        # The admission pause ends with the step's own pods.
        release = release.entering(StepState.STEP_UPGRADE)
    return release.stop(action, notes=(note,))


def continue_exchange(release: Release) -> Transition:
    """A DaemonSet has its stable template for a short time: the exchange ends before anything else is decided."""
    stop = surplus_new_pods.exchange(release)
    if stop is None:
        return release.noting(template_exchange="").go_on()
    return with_deadline(release, stop)


def own_template_first(release: Release) -> Stop | None:
    """However a release ends, the workload has the template that its owner asked for."""
    return (
        surplus_new_pods.template_restored(release) if release.seen.workload is not None else None
    )


def _beside_older_pods(release: Release) -> Transition:
    return with_stable_pods_returning(release, _continue(release))


def _hold(release: Release) -> Transition:
    return held_up(release, release.progressing(reasons.PAUSED, messages.PAUSED).stop())


def _come_to_the_end(release: Release) -> Transition:
    """The goal is written before any change: after a crash halfway, a step would otherwise undo the end, and freeze a
    workload whose owner's values are restored already.
    """
    going = ending(release, Goal.SUCCESS)
    return going.progressing(reasons.FINALISING, messages.FINALISING).stop()


def _upgrade_again(release: Release) -> Transition:
    return release.entering(StepState.STEP_UPGRADE).go_on()


def _step(release: Release) -> Transition:
    """The step itself, beside its background gate."""
    background = watched(_refreshed(release))
    if background.stop is not None:
        return held_up(release, background.stop)
    return _with_background_run(
        background, _with_problem(release, decide_step(release.at(background.status)))
    )


def _with_background_run(background: Watched, transition: Transition) -> Transition:
    """The transition of the step, with the actions of the background gate."""
    if background.wake is None or isinstance(transition, Continue):
        return transition
    return transition.also(*background.wake.actions, wake_at=background.wake.wake_at)


def _refreshed(release: Release) -> Release:
    """The owner's rollout id may change during a release; the same template may have been admitted again.

    Before the first move, the running revision becomes stable when no stable revision is recorded. A recorded one is
    never replaced here: a workload that returns from zero replicas gets its newest revision from its own controller.
    """
    release = release.showing(observed_rollout_id=observed_id(release))
    if release.admission_paused and not release.ours.returning and not release.ours.stable_revision:
        revision, template = stable_after(release)
        release = release.showing(stable_revision=revision)
        release = release.noting(stable_revision=revision, stable_template=template)
    return release.noting(release=release.identity) if release.owners is not None else release


def _with_problem(release: Release, transition: Transition) -> Transition:
    """Report a missing object: the stable version, a Service or a gateway object."""
    if isinstance(transition, Continue):
        return transition
    release = release.at(transition.status)
    missing = (
        stable_is_gone(release)
        or services.unusable_services(release)
        or routing.unreadable_routes(release)
        or selects_no_new_pod(release)
    )
    return with_deadline(release, transition.also(problem=missing))


def _withdraw(release: Release) -> Transition:
    """Send all traffic to stable, and begin the step again by creating its pods; deeper gateway objects stay for it."""
    actions = restoring.restore_depth_zero(release)
    if not actions:
        return release.stop()
    release = release.entering(StepState.STEP_UPGRADE)
    release = release.noting(endpoints_ready_since={})
    step = release.ours.step
    text = f"step({step}): no pod of the new version is ready; its traffic goes to the stable one"
    note = Note(reasons.TRAFFIC_WITHDRAWN, text, Severity.WARNING)
    return release.progressing(reasons.IN_ROLLING, text).stop(*actions, notes=(note,))


def _cancel(release: Release) -> Transition:
    """The workload was changed back: revert the changes of the release."""
    told = with_told(release)
    release = ending(release, Goal.ROLLBACK)
    release = release.noting(state=StepState.COMPLETED, returning=False, checks=told)
    release = about_this_template(release).showing(current_step_state=StepState.COMPLETED)
    note = Note(reasons.RELEASE_CANCELING, messages.CANCELLING)
    return release.progressing(reasons.CANCELLING, messages.CANCELLING).go_on(note)


def _roll_back_in_batches(release: Release) -> Transition:
    """The workload was changed back, and its owner wants to go back step by step."""
    ours = release.ours
    record, told = recorded(release, Outcome.ROLLED_BACK), with_told(release)
    end = rolled_back_by(release.status)
    begun = begin(release, (ours.stable_revision, ours.stable_template))
    release = release.at(begun.status).noting(returning=True, checks=told)
    release = release.showing(observed_rollout_id=returning_id(release))
    note = Note(reasons.RELEASE_RESTARTED, messages.RETURNING, Severity.WARNING, ended=end)
    # The status is written before anything else: after a crash, only the status says that this release goes back.
    return release.stop(*record, notes=(note, *begun.notes))


def _start_over(release: Release) -> Transition:
    """Revert the changes of the abandoned release, then begin again with the present template."""
    stable = stable_after(release)
    release = release.progressing(reasons.INITIALIZING, messages.CONTINUOUS)
    alone = abandoned_pods_serve_alone(release.noting(stable_revision=stable[0]))
    if alone is not None:
        return release.stop(problem=alone)
    release = ending(release, Goal.CONTINUOUS)
    release = release.noting(stable_revision=stable[0], stable_template=stable[1])
    stop = finalise(release, Goal.CONTINUOUS)
    if stop is not None:
        return stop
    note = Note(
        reasons.RELEASE_RESTARTED,
        "workload continuous publishing canaryRevision, then restart publishing",
        Severity.WARNING,
        ended=End.SUPERSEDED,
    )
    record = recorded(release, Outcome.SUPERSEDED)
    begun = begin(release, stable)
    return structs.replace(begun, notes=(note, *begun.notes), actions=record)


def _without_pods(release: Release) -> str:
    """A DaemonSet has no replicas: it has no pods if it has no nodes."""
    by_nodes = release.kind is not None and not release.kind.has_replicas
    return messages.NODES_AWAY if by_nodes else messages.SCALED_AWAY


def _return_from_zero(release: Release) -> Transition:
    """Scaled to zero: restore traffic, and make sure that only the stable revision returns, at step 1.

    If it already returned as the new revision, the step begins again with no new pod.
    """
    if release.ours.goal != Goal.SCALED_AWAY:
        # The goal is written first: a paused workload without stable pods may have lost them in another way.
        begun = release.noting(goal=Goal.SCALED_AWAY, goal_since=None)
        return begun.progressing(reasons.IN_ROLLING, _without_pods(release)).stop()
    # At zero replicas the release waits for people, without a limit; after that, for pods.
    since = None if scaled_away(release) else release.ours.goal_since or release.now
    release = release.noting(goal_since=since)
    stop = finalise(release, Goal.SCALED_AWAY)
    if stop is not None:
        return with_deadline(release, stop)
    if (release.ours.step, release.ours.state) != (1, StepState.BEFORE_STEP_UPGRADE):
        release = release.noting(endpoints_ready_since={})
        release = release.showing(finalising_step=FinalisingStep.NONE)
        release = go_to(release, 1)
        release = release.noting(visits=opened((), 1, release.now))
    if scaled_away(release):
        return release.progressing(reasons.IN_ROLLING, _without_pods(release)).stop()
    going_on = release.noting(goal="", goal_since=None, held_up_since=None, worked_since=None)
    return in_rolling(going_on).go_on()


def workload_gone(release: Release) -> Transition:
    """The workload of a release is gone: restore traffic without it, then start from nothing (D08)."""
    stop = finalise(release, Goal.WORKLOAD_GONE)
    if stop is not None:
        return stop
    forgotten = release.at(release.status.with_release(None))
    forgotten = forgotten.reporting(phase=Phase.INITIAL, moonshift=UNSET, conditions=())
    record = recorded(release, Outcome.WORKLOAD_DELETED)
    return forgotten.go_on(abandoned(End.WORKLOAD_DELETED), actions=record)


# --- the end ------------------------------------------------------------------------------------


def _end(release: Release) -> Transition:
    """Carry out the sequence of the goal; then the release is over."""
    goal = Goal(release.ours.goal)
    release = ending(release, goal)
    stop = finalise(release, goal)
    if stop is not None:
        return with_deadline(release, stop)
    won = goal is Goal.SUCCESS
    text = messages.COMPLETED if won else messages.CANCELED
    release = release.with_condition("Succeeded", "True" if won else "False", "", "")
    release = release.progressing(reasons.COMPLETED, text)
    note = Note(
        reasons.RELEASE_COMPLETED if won else reasons.RELEASE_CANCELED,
        f"{new_in_words(release)}: {text}",
        ended=End.SUCCEEDED if won else rolled_back_by(release.status),
    )
    outcome = Outcome.SUCCEEDED if won else Outcome.ROLLED_BACK
    return ended(release).go_on(note, actions=recorded(release, outcome))


def ending(release: Release, goal: Goal) -> Release:
    """The release ends for this reason; the clock of its end starts now."""
    since = release.ours.goal_since if release.ours.goal == goal else None
    return release.noting(goal=goal, goal_since=since or release.now)


def ended(release: Release) -> Release:
    """The status without a release under way."""
    release = release.entering(StepState.COMPLETED).without_condition(DRIFTED)
    release = release.showing(finalising_step=FinalisingStep.END, next_step_index=-1)
    return release.noting(
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


# --- the order of rank --------------------------------------------------------------------------

OF_THE_WORKLOAD = (
    Disturbance(
        "The workload was deleted and created again.", when(workload_was_replaced, workload_gone)
    ),
    Disturbance("The template is the stable one again: rollback.", when(rolled_back, _go_back)),
    Disturbance(
        "The workload has lost its marks or its hold: it gets them back.",
        when(lost_its_hold, _freeze_again),
    ),
    Disturbance("The stable ReplicaSet was deleted: it is made again.", rebuilt),
    Disturbance(
        "The template is a third one: the release starts again with it.",
        when(another_revision_came, _make_room),
    ),
    Disturbance("The release ends: its end goes on.", when(ends, _end)),
)
"""Asked in every state of a release, its end included."""

OF_THE_PODS = (
    Disturbance(
        "The workload is scaled to zero, or returns from zero.",
        when(is_or_was_scaled_away, _return_from_zero),
    ),
    Disturbance(
        "Only older pods run in the place of stable ones: they give it back beside the step.",
        when(only_older_pods_are_in_the_way, _beside_older_pods),
    ),
    Disturbance(
        "The workload returned from zero as the new revision.",
        when(returned_as_new, _return_from_zero),
    ),
    Disturbance(
        "More pods are new than any step asked for: stable ones take their places.",
        when(too_many_are_new, surplus_new_pods.begin_exchange),
    ),
    Disturbance(
        "Traffic goes to a revision without ready pods.", when(new_side_is_led_away, _withdraw)
    ),
)
"""Asked while a release is in its steps."""

OF_THE_STEP = (
    Disturbance("`spec.strategy.paused`.", when(is_paused, _hold)),
    Disturbance("An edited plan.", replan),
    Disturbance("A jump.", read_jump),
    Disturbance("An approval.", read_mailbox),
    Disturbance(
        "The release has not moved yet: its requirements are checked.",
        when(has_not_moved, check_before_the_first_move),
    ),
    Disturbance("All steps are done: the end begins.", when(is_through, _come_to_the_end)),
    Disturbance(
        "Admission paused the workload again, and the pods of the step are gone: they are created again.",
        when(is_admitted_again_without_its_pods, _upgrade_again),
    ),
)
"""Asked while the pods of a release are where its step left them. The wishes of people come first."""
