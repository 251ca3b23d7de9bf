"""One release from its admission to its end: what disturbs it, in ranking order, and its steps.

The ranking is the order of the guards in `decide_release`: a rollback outranks a pause (the original looked at
nothing while paused, D12), and a new template is noticed in every state, the end included (D11).
"""

from datetime import datetime

from msgspec import UNSET, structs

from controller.api import names
from controller.api.rollout import (
    FinalisingStep,
    MoonshiftStatus,
    Phase,
    RolloutStatus,
    StepState,
)
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.history import Outcome
from controller.domain.pods.running import stable_of_set
from controller.domain.rollout import messages, restoring, routing
from controller.domain.rollout.by_id import asked_by_id, stable_by_id
from controller.domain.rollout.deadline import held_up, with_deadline
from controller.domain.rollout.drifting import DRIFTED
from controller.domain.rollout.finalising import Goal, finalise
from controller.domain.rollout.guarding import new_side_is_led_away
from controller.domain.rollout.jump import following, go_to, read_jump
from controller.domain.rollout.moving.choice import mechanism_of
from controller.domain.rollout.moving.holding import hold_again, lost_its_hold, values_are_lost
from controller.domain.rollout.moving.stable_gone import stable_is_gone
from controller.domain.rollout.naming import new_in_words, stable_in_words
from controller.domain.rollout.pause import read_mailbox
from controller.domain.rollout.record import recorded
from controller.domain.rollout.replanning import replan
from controller.domain.rollout.returning import (
    goes_on_returning,
    observed_id,
    returning_id,
    returns_in_batches,
)
from controller.domain.rollout.reverting import held_as_failed
from controller.domain.rollout.shared_routing import join
from controller.domain.rollout.showing import about_this_template, counted, revision_shown
from controller.domain.rollout.situation import (
    Situation,
    known_template,
    position,
)
from controller.domain.rollout.status import (
    condition,
    enter,
    progressing,
    with_canary,
    with_condition,
    with_position,
    without_condition,
)
from controller.domain.rollout.steps import decide_step
from controller.domain.rollout.stuck import selects_no_new_pod
from controller.domain.rollout.turn import Advance, Stop, Turn
from controller.domain.rollout.visits import opened

# --- the beginning ------------------------------------------------------------------------------


def begin(sit: Situation, status: RolloutStatus, stable: tuple[str, str]) -> Advance:
    """Start a release at step 1: remember what is stable, forget everything of the release before.

    `stable` is the revision and the template hash of what runs.
    """
    by_id = asked_by_id(sit)
    stable = stable_by_id(sit, stable) if by_id else stable
    before = stable_in_words(sit, stable[0])
    ours = MoonshiftStatus(
        release=sit.release,
        by_id=by_id,
        revision=sit.template_hash,
        template=sit.template_hash,
        step=1,
        step_plan=sit.step(1).identity,
        step_replicas=sit.step(1).replicas,
        state=StepState.BEFORE_STEP_UPGRADE,
        state_since=sit.now,
        workload_uid=sit.meta.uid,
        stable_revision=stable[0],
        stable_template=stable[1],
        stable_words=before,
        failed_template=position(status).failed_template,
        config=position(status).config,
        visits=opened((), 1, sit.now),
        started_at=sit.now,
        owners_record=_recorded_values(sit),
        route_plan=routing.observed_plan(sit) or "",
        empty_sides=position(status).empty_sides,
    )
    seen = sit.sub_status(
        observed_workload_generation=sit.meta.generation,
        observed_rollout_id=sit.rollout_id,
        rollout_hash=sit.seen.plan_hash,
        stable_revision=stable[0],
        canary_revision=revision_shown(sit, status),
        current_step_index=1,
        next_step_index=following(sit, 1),
        current_step_state=StepState.BEFORE_STEP_UPGRADE,
        last_update_time=sit.now,
    )
    status = structs.replace(status.with_release(seen), moonshift=ours)
    status = without_condition(without_condition(status, "Succeeded"), DRIFTED)
    status = progressing(status, reasons.INITIALIZING, messages.INITIALIZING, sit.now)
    text = f"release of {new_in_words(sit)} started; stable is {before or 'unknown'}"
    return Advance(status, (Note(reasons.RELEASE_STARTED, text),))


def _recorded_values(sit: Situation) -> str:
    """What the workload records of its owner's own values; empty where that cannot be read."""
    return sit.meta.annotations[names.ORIGINAL_STRATEGY] if sit.owners is not None else ""


def _check(sit: Situation, status: RolloutStatus) -> Turn:
    """Before anything is moved: what the plan names exists and can be read."""
    problem = (
        held_as_failed(sit, status)
        or routing.unusable_services(sit)
        or routing.unreadable_routes(sit)
        or routing.unsayable_steps(sit)
    )
    if problem is not None:
        return Stop(status, problem=problem)
    # What had to be waited for before anything could be moved is no time of the first step's.
    begun = with_position(status, visits=opened((), position(status).step, sit.now))
    return join(sit, status) or Advance(_in_rolling(sit, begun))


def _in_rolling(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    text = messages.in_step(sit, position(status).step, messages.UPGRADING)
    return progressing(status, reasons.IN_ROLLING, text, sit.now)


def stable_at_admission(sit: Situation) -> tuple[str, str]:
    """Revision and template hash of what runs: decided once, at admission, and kept in a label."""
    if sit.workload.kind is not WorkloadKind.DEPLOYMENT:
        return stable_of_set(sit.workload, sit.owners)
    label = sit.meta.labels.get(names.STABLE_REVISION, "")
    for replica_set, hashed in sit.workload.replica_sets:
        if replica_set.revision == label:
            return label, hashed
    others = [run for run in sit.running if run.template_hash != sit.template_hash]
    return (others[0].name, others[0].template_hash) if others else ("", "")


def _stable_after(sit: Situation, status: RolloutStatus) -> tuple[str, str]:
    """What is stable once another revision came: one that has taken the old one's place, in whole or for the most part.

    Decided again on each pass, and the same each time, until the release begins anew.
    """
    ours = position(status)
    runs = {
        run.name: (run.size, run.template_hash)
        for run in sit.running
        if run.template_hash != sit.template_hash
    }
    present = known_template(status)
    left, _ = runs.get(ours.stable_revision, (0, ""))
    taking = [
        (size, revision, hashed)
        for revision, (size, hashed) in runs.items()
        if size > left and (not left or (ours.goal == Goal.SUCCESS and hashed == present))
    ]
    if not taking:
        return ours.stable_revision, ours.stable_template
    _, revision, hashed = max(taking)
    return revision, hashed


# --- disturbances -------------------------------------------------------------------------------


def workload_was_replaced(sit: Situation, status: RolloutStatus) -> bool:
    """Deleted and made again under the same name."""
    uid = position(status).workload_uid
    return bool(uid) and uid != sit.meta.uid


def rolled_back(sit: Situation, status: RolloutStatus) -> bool:
    """The template is again what ran before the release (perhaps already when the release was first looked at)."""
    ours = position(status)
    back = bool(ours.stable_template) and sit.template_hash == ours.stable_template
    ours_already = ours.by_id or ours.goal == Goal.ROLLBACK or goes_on_returning(sit, status)
    return back and not ours_already


def another_revision_came(sit: Situation, status: RolloutStatus) -> bool:
    """The template is neither the release's nor the stable one's, or one that came is still being made way for."""
    return position(status).goal == Goal.CONTINUOUS or not _expected(sit, status)


def scaled_away(sit: Situation) -> bool:
    """The workload was scaled to zero: there is nothing to release, and nothing for routes to lead to."""
    return sit.replicas == 0


def _expected(sit: Situation, status: RolloutStatus) -> bool:
    """The workload's template is the one this release is about."""
    if position(status).goal == Goal.ROLLBACK:
        return sit.template_hash == position(status).stable_template
    return sit.template_hash == known_template(status)


def decide_release(sit: Situation, status: RolloutStatus) -> Turn:
    """The next turn of a release under way."""
    status = routing.noted_routes(sit, status)
    status = with_canary(status, observed_workload_generation=sit.meta.generation)
    if workload_was_replaced(sit, status):
        return workload_gone(sit, status)
    if rolled_back(sit, status):
        in_batches = returns_in_batches(sit, status) and not position(status).returning
        return _return(sit, status) if in_batches else _cancel(sit, status)
    if position(status).goal in UNHELD_IS_LOST and lost_its_hold(sit):
        return _hold_again(sit, status)
    return _decide_held(sit, _remembered(sit, status))


UNHELD_IS_LOST = ("", Goal.CONTINUOUS, Goal.SCALED_AWAY)
"""Goals under which the workload is held; the others give it back."""


def _remembered(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    """What the workload records of its owner's own values, should the workload lose it."""
    if sit.owners is None:
        return status
    return with_position(status, owners_record=_recorded_values(sit))


def _hold_again(sit: Situation, status: RolloutStatus) -> Turn:
    """Somebody took off what admission had put on, and no webhook was there to keep it: it waits for nobody."""
    problem = values_are_lost(sit, status)
    if problem is not None:
        return Stop(status, problem=problem)
    note = Note(reasons.HELD_AGAIN, messages.HELD_AGAIN, Severity.WARNING)
    action = hold_again(sit, status)
    if stable_is_gone(sit, status) is not None:
        status = with_position(status, went_on=True)
    if position(status).state in PAST_PODS:
        # The latch comes off with the step's own pods.
        status = enter(status, StepState.STEP_UPGRADE, sit.now)
    return Stop(status, (action,), notes=(note,))


PAST_PODS = (StepState.STEP_TRAFFIC_ROUTING, StepState.STEP_METRICS_ANALYSIS, StepState.STEP_PAUSED)


def _decide_held(sit: Situation, status: RolloutStatus) -> Turn:
    """The next turn of a release whose workload is held, or is being given back."""
    goal = position(status).goal
    if another_revision_came(sit, status):
        return _start_over(sit, status)
    if goal and goal != Goal.SCALED_AWAY:
        return _end(sit, status, Goal(goal))
    status = counted(sit, about_this_template(sit, status))
    if goal or scaled_away(sit) or mechanism_of(sit).returned_as_new(sit, status):
        return _come_back(sit, status)
    if new_side_is_led_away(sit, status):
        return _withdraw(sit, status)
    return _go_on(sit, status)


def _go_on(sit: Situation, status: RolloutStatus) -> Turn:
    """The next turn of a release that only people hold up."""
    if sit.seen.rollout.spec.strategy.paused:
        paused = progressing(status, reasons.PAUSED, messages.PAUSED, sit.now)
        return held_up(sit, Stop(paused))
    wish = replan(sit, status) or read_jump(sit, status) or read_mailbox(sit, status)
    if wish is not None:
        return wish
    if said_initializing(status):
        return _check(sit, status)
    if position(status).state == StepState.COMPLETED:
        # The goal is written before anything is touched: after a crash half-way a step would undo it, and put the
        # hold back on a workload whose owner's values were given back already.
        going = ending(status, Goal.SUCCESS, sit.now)
        return Stop(progressing(going, reasons.FINALISING, messages.FINALISING, sit.now))
    return _with_problem(sit, decide_step(sit, _refreshed(sit, status)))


def _refreshed(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    """The owner's rollout id may change mid-way; the same template may have been admitted again.

    Before the first move, what runs is stable where nothing was known to be. Never where something was: a workload that
    comes back from zero replicas is given its newest revision by its own controller.
    """
    status = with_canary(status, observed_rollout_id=observed_id(sit, status))
    if sit.latched and not sit.returning and not position(status).stable_revision:
        revision, template = _stable_after(sit, status)
        status = with_canary(status, stable_revision=revision)
        status = with_position(status, stable_revision=revision, stable_template=template)
    return with_position(status, release=sit.release) if sit.owners is not None else status


def _with_problem(sit: Situation, turn: Turn) -> Turn:
    """Say what is missing: the stable version, a Service or a gateway object."""
    if isinstance(turn, Advance):
        return turn
    missing = (
        stable_is_gone(sit, turn.status)
        or routing.unusable_services(sit)
        or routing.unreadable_routes(sit)
        or selects_no_new_pod(sit, turn.status)
    )
    return with_deadline(sit, structs.replace(turn, problem=turn.problem or missing))


def _withdraw(sit: Situation, status: RolloutStatus) -> Turn:
    """Everybody goes to stable, and the step begins again with making its pods; what routes point at stays for it."""
    actions = restoring.give_back_what_leads(sit, status)
    if not actions:
        return Stop(status)
    status = enter(status, StepState.STEP_UPGRADE, sit.now)
    status = with_position(status, endpoints_ready_since={})
    text = f"step({position(status).step}): no pod of the new version is ready; its traffic goes to the stable one"
    note = Note(reasons.TRAFFIC_WITHDRAWN, text, Severity.WARNING)
    return Stop(
        progressing(status, reasons.IN_ROLLING, text, sit.now),
        actions,
        notes=(note,),
    )


def _cancel(sit: Situation, status: RolloutStatus) -> Turn:
    """The workload was changed back: undo what the release changed."""
    status = ending(status, Goal.ROLLBACK, sit.now)
    status = with_position(status, state=StepState.COMPLETED, returning=False)
    status = with_canary(about_this_template(sit, status), current_step_state=StepState.COMPLETED)
    note = Note(reasons.STEP_UPGRADED, "workload has been rollback, then rollout is canceled")
    return Advance(progressing(status, reasons.CANCELLING, messages.CANCELLING, sit.now), (note,))


def _return(sit: Situation, status: RolloutStatus) -> Turn:
    """The workload was changed back, and asks to go back step by step."""
    ours = position(status)
    record = recorded(sit, status, Outcome.ROLLED_BACK)
    begun = begin(sit, status, (ours.stable_revision, ours.stable_template))
    status = with_position(begun.status, returning=True)
    status = with_canary(status, observed_rollout_id=returning_id(sit))
    note = Note(reasons.RELEASE_RESTARTED, messages.RETURNING, Severity.WARNING)
    # The position is written before anything is looked at: what a step wants of pods depends on it.
    return Stop(status, record, notes=(note, *begun.notes))


def _start_over(sit: Situation, status: RolloutStatus) -> Turn:
    """Put right what the abandoned release changed, then begin again with the present template."""
    stable = _stable_after(sit, status)
    status = progressing(status, reasons.INITIALIZING, messages.CONTINUOUS, sit.now)
    status = ending(status, Goal.CONTINUOUS, sit.now)
    status = with_position(status, stable_revision=stable[0], stable_template=stable[1])
    stop = finalise(sit, status, Goal.CONTINUOUS)
    if stop is not None:
        return stop
    note = Note(
        reasons.RELEASE_RESTARTED,
        "workload continuous publishing canaryRevision, then restart publishing",
        Severity.WARNING,
    )
    record = recorded(sit, status, Outcome.SUPERSEDED)
    begun = begin(sit, status, stable)
    return structs.replace(begun, notes=(note, *begun.notes), actions=record)


def _come_back(sit: Situation, status: RolloutStatus) -> Turn:
    """Scaled to zero: put traffic right, and see to it that only the stable revision comes back, at step 1.

    Where it was back as the new revision before anybody looked, the step begins again with no new pod.
    """
    if position(status).goal != Goal.SCALED_AWAY:
        # The goal is written first: a workload that is latched with no stable pod may have lost them in another way.
        begun = with_position(status, goal=Goal.SCALED_AWAY)
        return Stop(progressing(begun, reasons.IN_ROLLING, messages.SCALED_AWAY, sit.now))
    stop = finalise(sit, status, Goal.SCALED_AWAY)
    if stop is not None:
        return stop
    if (position(status).step, position(status).state) != (1, StepState.BEFORE_STEP_UPGRADE):
        status = with_position(status, endpoints_ready_since={})
        status = with_canary(status, finalising_step=FinalisingStep.NONE)
        status = go_to(sit, status, 1)
        status = with_position(status, visits=opened((), 1, sit.now))
    if scaled_away(sit):
        return Stop(progressing(status, reasons.IN_ROLLING, messages.SCALED_AWAY, sit.now))
    return Advance(_in_rolling(sit, with_position(status, goal="")))


def workload_gone(sit: Situation, status: RolloutStatus) -> Turn:
    """The workload a release was about is gone: put traffic right without it, then start from nothing (D08)."""
    stop = finalise(sit, status, Goal.WORKLOAD_GONE)
    if stop is not None:
        return stop
    return Advance(
        structs.replace(
            status.with_release(None), phase=Phase.INITIAL, moonshift=UNSET, conditions=()
        ),
        actions=recorded(sit, status, Outcome.WORKLOAD_DELETED),
    )


# --- the end ------------------------------------------------------------------------------------


def _end(sit: Situation, status: RolloutStatus, goal: Goal) -> Turn:
    """Bring the goal's facts about; then the release is over."""
    status = ending(status, goal, sit.now)
    stop = finalise(sit, status, goal)
    if stop is not None:
        return with_deadline(sit, stop)
    won = goal is Goal.SUCCESS
    text = messages.COMPLETED if won else messages.CANCELED
    status = with_condition(status, "Succeeded", "True" if won else "False", "", "", sit.now)
    status = progressing(status, reasons.COMPLETED, text, sit.now)
    note = Note(
        reasons.RELEASE_COMPLETED if won else reasons.RELEASE_CANCELED,
        f"{new_in_words(sit)}: {text}",
    )
    outcome = Outcome.SUCCEEDED if won else Outcome.ROLLED_BACK
    return Advance(ended(sit, status), (note,), recorded(sit, status, outcome))


def ending(status: RolloutStatus, goal: Goal, now: datetime) -> RolloutStatus:
    """The release ends for this reason; its end has a clock of its own, which starts now."""
    ours = position(status)
    since = ours.goal_since if ours.goal == goal else None
    return with_position(status, goal=goal, goal_since=since or now)


def ended(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    """Nothing of the release is under way any more."""
    status = without_condition(enter(status, StepState.COMPLETED, sit.now), DRIFTED)
    status = with_canary(status, finalising_step=FinalisingStep.END, next_step_index=-1)
    return with_position(
        status,
        goal="",
        goal_since=None,
        held_up_since=None,
        worked_since=None,
        release="",
        owners_record="",
        routed_at=None,
        route_plan="",
        returning=False,
        by_id=False,
        empty_sides={},
    )


def said_initializing(status: RolloutStatus) -> bool:
    """The release was seen, and what it needs has not been checked yet."""
    said = condition(status, "Progressing")
    return said is not None and said.reason == reasons.INITIALIZING


def completed(status: RolloutStatus) -> bool:
    """The release under way has ended."""
    said = condition(status, "Progressing")
    return said is not None and said.reason == reasons.COMPLETED
