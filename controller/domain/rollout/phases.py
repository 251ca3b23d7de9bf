"""The decision about a whole Rollout: `decide`, the one entry of this room, and the table of phases.

Invariant: pure. A pass goes through states until one of them stops it with actions or a wait. It goes through phases in
the same way, so a release that needs nothing more is Healthy in the same write that completed it.
"""

from datetime import datetime

from msgspec import structs

from controller.api.names import PLAN_HASH, ROLLOUT_FINALIZER
from controller.api.rollout import BUSY_PHASES, MoonshiftStatus, Phase, RolloutStatus, StepState
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.availability import NotServed, or_correct
from controller.domain.decision import (
    Action,
    Decision,
    EnsureRoutes,
    LabelWorkload,
    Note,
    PauseAutoscaler,
    PrepareRollout,
    Refusal,
    RemoveFinalizer,
    Severity,
)
from controller.domain.history import Outcome
from controller.domain.observation import Observation
from controller.domain.pods.marks import marked_for
from controller.domain.rollout import (
    autoscalers,
    config_release,
    empty_side_record,
    empty_side_routes,
    messages,
    routing,
)
from controller.domain.rollout.beginning import begin, stable_at_admission
from controller.domain.rollout.claiming import claiming, left_at_rest
from controller.domain.rollout.drifting import without_put_back
from controller.domain.rollout.ends import End, abandoned
from controller.domain.rollout.finalising import Goal, finalise
from controller.domain.rollout.kept import corrected, dropping, keeping
from controller.domain.rollout.left_behind import without_a_release
from controller.domain.rollout.record import recorded
from controller.domain.rollout.release import (
    completed,
    continue_exchange,
    decide_release,
    ended,
    own_template_first,
    workload_gone,
)
from controller.domain.rollout.release_context import (
    ReleaseContext,
    Style,
    known_template,
    moonshift_status,
)
from controller.domain.rollout.showing import (
    about_this_template,
    names_filled_in,
    revision_shown,
)
from controller.domain.rollout.status import (
    condition,
    mirrored,
    progressing,
    settled,
    with_canary,
    with_condition,
    with_kstatus,
    without_condition,
)
from controller.domain.rollout.taking_over import taking_over
from controller.domain.rollout.transition import Continue, Stop, Transition
from controller.domain.rollout.trusted import trusted
from controller.domain.rollout.way_out import MISSING, as_it_may_be_solved

MAX_TRANSITIONS = 64
"""A pass goes through far fewer states; reaching this number is a defect, and stops the pass instead of the process."""


def decide(seen: Observation, now: datetime) -> Decision:
    """The decision about this Rollout, from all that is known of it at `now`."""
    status, doubts = trusted(ReleaseContext(seen=seen, now=now))
    if doubts:
        seen = structs.replace(seen, rollout=structs.replace(seen.rollout, status=status))
    context, corrections = corrected(ReleaseContext(seen=seen, now=now))
    notes = (*doubts, *corrections)
    status = empty_side_record.noted(context, context.seen.rollout.status)
    actions: tuple[Action, ...] = ()
    for _ in range(MAX_TRANSITIONS):
        transition = _transition(context, status)
        notes += transition.notes
        actions += transition.actions
        status = transition.status
        if isinstance(transition, Stop):
            return _decision(
                context,
                empty_side_routes.with_shares_led_away(
                    context, structs.replace(transition, actions=actions)
                ),
                notes,
            )
    note = Note(
        reasons.LOOPING, f"no rest in state {moonshift_status(status).state}", Severity.WARNING
    )
    return _decision(context, Stop(status), (*notes, note))


def refused(
    seen: Observation,
    decision: Decision,
    refusal: Refusal,
    now: datetime,
    undone: tuple[Action, ...] = (),
) -> Decision:
    """The decision after one of its actions was refused: the refusal is in the status and an Event.

    `undone` are the actions that are not carried out because of it, the refused one included. If the decision has
    reported the missing object itself, its words stay: they name what helps at that moment.
    """
    if any(isinstance(action, EnsureRoutes) for action in undone):
        decision = without_put_back(decision, seen.rollout.status)
    if any(isinstance(action, PauseAutoscaler) for action in undone):
        decision = autoscalers.without_hold(decision, seen.rollout.status)
    refusal = as_it_may_be_solved(refusal, decision.status)
    known = condition(decision.status, "Stalled")
    told = known is not None and (known.status, known.reason) == ("True", refusal.reason)
    if told and refusal.reason in MISSING:
        return decision
    status = structs.replace(decision.status, message=refusal.message)
    status = with_kstatus(status, refusal, now)
    notes = (*decision.notes, *_reported_once(seen.rollout.status, refusal))
    return structs.replace(decision, status=settled(seen.rollout.status, status), notes=notes)


def _with_problem(notes: tuple[Note, ...], problem: tuple[Note, ...]) -> tuple[Note, ...]:
    """The Event of a problem says what to do, so it stands for the note that has its reason: a gate's verdict."""
    told = {note.reason for note in problem}
    return (*(note for note in notes if note.reason not in told), *problem)


def _reported_once(before: RolloutStatus, problem: Refusal) -> tuple[Note, ...]:
    """A problem is an Event when it appears, not on every pass."""
    old = condition(before, "Stalled")
    if old is not None and (old.status, old.message) == ("True", problem.message):
        return ()
    return (Note(problem.reason, problem.message, Severity.WARNING),)


def _decision(context: ReleaseContext, stop: Stop, notes: tuple[Note, ...]) -> Decision:
    status = structs.replace(
        stop.status, observed_generation=context.seen.rollout.metadata.generation
    )
    if stop.problem is not None:
        status = structs.replace(status, message=stop.problem.message)
        notes = _with_problem(notes, _reported_once(stop.status, stop.problem))
    status = with_kstatus(mirrored(status), stop.problem, context.now)
    status = settled(context.seen.rollout.status, status)
    housekeeping = _housekeeping(context, status)
    notes += config_release.notes_of(context.seen.rollout.status, status, housekeeping)
    actions = (*stop.urgent, *housekeeping, *stop.actions)
    return Decision(
        status=status,
        actions=actions,
        wake_at=stop.wake_at,
        notes=notes,
        brief=stop.brief and stop.problem is None and not actions,
    )


def _housekeeping(context: ReleaseContext, status: RolloutStatus) -> tuple[Action, ...]:
    """The housekeeping of every Rollout that is not being deleted: finalizer, plan hash, the label that admission
    selects by, configuration.
    """
    meta = context.seen.rollout.metadata
    if meta.deleting:
        return ()
    housekeeping: tuple[Action, ...] = ()
    if (
        ROLLOUT_FINALIZER not in meta.finalizers
        or meta.annotations.get(PLAN_HASH) != context.seen.plan_hash
    ):
        housekeeping = (PrepareRollout(context.seen.plan_hash),)
    if context.seen.workload is not None and not context.labelled and unsupported(context) is None:
        label = context.workload.kind.label
        housekeeping += (LabelWorkload(context.workload_key, label, context.kind_name),)
    housekeeping += keeping(context, status)
    if moonshift_status(status).template_exchange:
        return housekeeping
    return (*housekeeping, *config_release.config_housekeeping(context, status))


def unsupported(context: ReleaseContext) -> Refusal | None:
    """A refusal of workloads and plans that this version cannot release."""
    spec = context.seen.rollout.spec
    problem = context.seen.workload_problem
    if problem is not None:
        is_fixed = context.seen.rollout.status.phase in BUSY_PHASES
        correctable = or_correct(problem.message, problem.why, "apiVersion and kind")
        return Refusal(
            problem.reason,
            problem.message if is_fixed else correctable,
            object=f"{spec.workload_ref.kind} {spec.workload_ref.name}",
        )
    if (unknown := autoscalers.unknown(context)) is not None:
        return unknown
    doubles = context.kind in (WorkloadKind.DEPLOYMENT, WorkloadKind.CLONE_SET)
    if context.style is Style.BLUE_GREEN and not doubles:
        return Refusal(
            reasons.UNSUPPORTED_STYLE,
            f"spec.strategy: a {spec.workload_ref.kind} cannot be released blue-green, a Deployment or a CloneSet can: "
            "use canary",
        )
    if not context.steps:
        return Refusal(reasons.INVALID_ROLLOUT, "spec.strategy: steps must not be empty")
    return None


def unseen_workload(context: ReleaseContext) -> Refusal | None:
    """The workload, or its autoscalers, may be held by us and cannot be read now: the Rollout must not be removed
    before them.

    A kind that is no longer served has no objects, and a workload that cannot be released was never held.
    """
    if not moonshift_status(context.seen.rollout.status).release:
        return None
    problem = context.seen.workload_problem
    if problem is None:
        return autoscalers.unknown(context)
    if isinstance(problem.why, NotServed) or problem.reason == reasons.UNSUPPORTED_WORKLOAD:
        return None
    return Refusal(problem.reason, problem.message)


# --- phases -------------------------------------------------------------------------------------


def _transition(context: ReleaseContext, status: RolloutStatus) -> Transition:
    rollout = context.seen.rollout
    inherited = taking_over(context, status) or claiming(context, status)
    if inherited is not None:
        return inherited
    if rollout.metadata.deleting:
        return _terminating(context, status)
    problem = unsupported(context)
    if problem is not None:
        return Stop(structs.replace(status, phase=status.phase or Phase.INITIAL), problem=problem)
    if rollout.spec.disabled or status.phase == Phase.DISABLING:
        return _disabled(context, status)
    if context.seen.workload is None:
        return _without_workload(context, status)
    if moonshift_status(status).template_exchange:
        return continue_exchange(context, status)
    status = config_release.followed(context, status)
    changed_content = config_release.stamped(context, status)
    if changed_content is not None:
        return changed_content
    match status.phase:
        case Phase.HEALTHY:
            return _healthy(context, status)
        case Phase.PROGRESSING:
            return _progressing(context, status)
        case _:
            message = messages.HEALTHY if status.phase == Phase.DISABLED else status.message
            return Continue(structs.replace(status, phase=Phase.HEALTHY, message=message))


def _healthy(context: ReleaseContext, status: RolloutStatus) -> Transition:
    owner = marked_for(context.workload.object)
    if owner == context.seen.rollout.metadata.name:
        status = without_condition(status, "Progressing")
        begun = begin(
            context, structs.replace(status, phase=Phase.PROGRESSING), stable_at_admission(context)
        )
        # The status is written before anything is changed: if the process stops and the workload disappears, only the
        # status shows that a Service may be pinned.
        return Stop(begun.status, notes=begun.notes)
    if owner:
        problem = Refusal(
            reasons.WORKLOAD_TAKEN,
            f"{context.workload_name} is being released by Rollout {owner}: one workload "
            "can have one Rollout",
            object=context.workload_name,
        )
        return Stop(status, problem=problem)
    left = without_a_release(context, status) or left_at_rest(context, status)
    if left is not None:
        return left
    if _is_about_another_workload(context, status):
        status = _without_past(status)
    status, notes = _changed_unfrozen(context, status)
    return Stop(_at_rest(context, status), notes=notes)


def _is_about_another_workload(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The Rollout names another workload now, or the workload was deleted and created again."""
    ours = moonshift_status(status)
    known = ours.template_of or ours.workload_uid
    return bool(known) and known != context.meta.uid


def _without_past(status: RolloutStatus) -> RolloutStatus:
    """The status without the facts about the former workload, whose template must not be compared with this one's."""
    ours = moonshift_status(status)
    kept = MoonshiftStatus(config=ours.config, failed_template=ours.failed_template)
    return structs.replace(
        without_condition(without_condition(status, "Progressing"), "Succeeded").with_release(None),
        moonshift=kept,
    )


def _changed_unfrozen(
    context: ReleaseContext, status: RolloutStatus
) -> tuple[RolloutStatus, tuple[Note, ...]]:
    """A template that was not released in steps is reported once, and is the stable one from now on."""
    known = known_template(status)
    if not known and not context.labelled and context.old_revision_runs:
        # The template changed before the workload had the label that sends its changes to admission.
        return status, (Note(reasons.NOT_HELD, messages.NOT_HELD, Severity.WARNING),)
    if not known or known == context.template_hash:
        return status, ()
    status = with_canary(
        about_this_template(context, status), pod_template_hash=context.present_revision
    )
    if context.replicas == 0:
        return status, (Note(reasons.NOT_HELD, messages.CHANGED_AT_ZERO),)
    return status, (Note(reasons.NOT_HELD, messages.NOT_HELD, Severity.WARNING),)


def _at_rest(context: ReleaseContext, status: RolloutStatus) -> RolloutStatus:
    """The status that clients read between releases: a finished sub-status, updated from the workload."""
    if not known_template(status):
        revision = context.present_revision
        inner = context.sub_status(
            rollout_hash=context.seen.plan_hash,
            stable_revision=revision,
            canary_revision=revision_shown(context, status),
            pod_template_hash=revision,
            current_step_index=len(context.steps),
            next_step_index=-1,
            last_update_time=context.now,
        )
        status = structs.replace(
            status.with_release(inner),
            message=messages.HEALTHY,
            moonshift=MoonshiftStatus(
                state=StepState.COMPLETED,
                template=context.template_hash,
                template_of=context.meta.uid,
                config=moonshift_status(status).config,
                failed_template=moonshift_status(status).failed_template,
            ),
        )
    return with_canary(
        names_filled_in(context, status),
        observed_rollout_id=context.rollout_id,
        observed_workload_generation=context.meta.generation,
        current_step_state=StepState.COMPLETED,
    )


def _progressing(context: ReleaseContext, status: RolloutStatus) -> Transition:
    if completed(status):
        return Continue(structs.replace(status, phase=Phase.HEALTHY))
    return decide_release(context, status)


def _without_workload(context: ReleaseContext, status: RolloutStatus) -> Transition:
    if moonshift_status(status).release:
        return workload_gone(context, routing.noted_routes(context, status))
    ref = context.seen.rollout.spec.workload_ref
    waiting = structs.replace(
        status, phase=Phase.INITIAL, message=f"{messages.WORKLOAD_NOT_FOUND}: {ref.kind} {ref.name}"
    )
    return Stop(waiting)


def _disabled(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """During a release the workload's own controller completes the update to the new template, after traffic has
    returned to stable."""
    status = config_release.without_config(routing.noted_routes(context, status))
    busy = status.phase in (Phase.PROGRESSING, Phase.DISABLING)
    goal = Goal.DISABLED if context.seen.workload is not None else Goal.WORKLOAD_GONE
    stop = own_template_first(context, status) or finalise(context, status, goal)
    if stop is not None:
        leaving = structs.replace(stop.status, phase=Phase.DISABLING, message=messages.DISABLING)
        return structs.replace(stop, status=leaving)
    actions: tuple[Action, ...] = ()
    notes: tuple[Note, ...] = ()
    if busy:
        actions = recorded(context, status, Outcome.DISABLED)
        notes = (abandoned(End.DISABLED),) if moonshift_status(status).release else ()
        status = progressing(
            ended(context, status), reasons.COMPLETED, messages.DISABLED, context.now
        )
    done = structs.replace(status, phase=Phase.DISABLED, message=messages.DISABLED)
    if context.seen.rollout.spec.disabled:
        return Stop(done, actions, notes=notes)
    return Continue(done, notes, actions)


def _terminating(context: ReleaseContext, status: RolloutStatus) -> Transition:
    status = routing.noted_routes(context, status)
    status = structs.replace(status, phase=Phase.TERMINATING, message=messages.TERMINATING)
    status = with_condition(
        status, "Terminating", "True", reasons.IN_TERMINATING, messages.TERMINATING, context.now
    )
    if ROLLOUT_FINALIZER not in context.seen.rollout.metadata.finalizers:
        return Stop(_terminated(context, status))
    problem = unseen_workload(context)
    if problem is not None:
        return Stop(status, problem=problem)
    has_workload = context.seen.workload is not None
    goal = Goal.DELETING if has_workload else Goal.WORKLOAD_GONE
    stop = own_template_first(context, status) or finalise(context, status, goal)
    if stop is not None:
        return stop
    if not moonshift_status(status).release:
        return Stop(_terminated(context, status), (*dropping(context), RemoveFinalizer()))
    record = recorded(context, status, Outcome.DELETED)
    note = abandoned(End.DELETED)
    return Stop(
        _terminated(context, status),
        (*record, *dropping(context), RemoveFinalizer()),
        notes=(note,),
    )


def _terminated(context: ReleaseContext, status: RolloutStatus) -> RolloutStatus:
    return with_condition(status, "Terminating", "False", reasons.COMPLETED, "", context.now)
