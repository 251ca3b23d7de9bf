"""The Rollout as a whole: `decide`, the one entry of this room, and the table of phases.

Invariant: pure. A pass walks through states until one stops it with something to do or to wait for; phases are walked
through the same way, so a release that needs nothing more is Healthy in the same write that completed it.
"""

from datetime import datetime

from msgspec import structs

from controller.api.names import PLAN_HASH, ROLLOUT_FINALIZER
from controller.api.rollout import MoonshiftStatus, Phase, RolloutStatus, StepState
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.availability import NotServed
from controller.domain.decision import (
    Action,
    Decision,
    LabelWorkload,
    Note,
    PrepareRollout,
    Refusal,
    RemoveFinalizer,
    Severity,
)
from controller.domain.history import Outcome
from controller.domain.observation import Observation
from controller.domain.pods.marks import marked_for
from controller.domain.rollout import autoscalers, config_release, guarding, messages, routing
from controller.domain.rollout.finalising import Goal, finalise
from controller.domain.rollout.record import recorded
from controller.domain.rollout.release import (
    begin,
    completed,
    decide_release,
    ended,
    stable_at_admission,
    workload_gone,
)
from controller.domain.rollout.showing import (
    about_this_template,
    names_filled_in,
    revision_shown,
)
from controller.domain.rollout.situation import Situation, Style, known_template, position
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
from controller.domain.rollout.turn import Advance, Stop, Turn

MOST_TURNS = 64
"""A pass walks through far fewer states; reaching this is a defect, and stops the pass instead of the process."""


def decide(seen: Observation, now: datetime) -> Decision:
    """What happens next to this Rollout, from all that is known of it at `now`."""
    sit = Situation(seen=seen, now=now)
    status = guarding.noted(sit, seen.rollout.status)
    notes: tuple[Note, ...] = ()
    actions: tuple[Action, ...] = ()
    for _ in range(MOST_TURNS):
        turn = _turn(sit, status)
        notes += turn.notes
        actions += turn.actions
        status = turn.status
        if isinstance(turn, Stop):
            return _decision(
                sit, guarding.guarded(sit, structs.replace(turn, actions=actions)), notes
            )
    note = Note("Looping", f"no rest in state {position(status).state}", Severity.WARNING)
    return _decision(sit, Stop(status), (*notes, note))


def refused(seen: Observation, decision: Decision, refusal: Refusal, now: datetime) -> Decision:
    """The decision as it stands after an action of it was refused: said in status and as an Event."""
    status = structs.replace(decision.status, message=refusal.message)
    status = with_kstatus(status, refusal, now)
    notes = (*decision.notes, *_said_once(seen.rollout.status, refusal))
    return structs.replace(decision, status=settled(seen.rollout.status, status), notes=notes)


def _said_once(before: RolloutStatus, problem: Refusal) -> tuple[Note, ...]:
    """A problem is an Event when it comes up, not each time it is looked at."""
    old = condition(before, "Stalled")
    if old is not None and (old.status, old.message) == ("True", problem.message):
        return ()
    return (Note(problem.reason, problem.message, Severity.WARNING),)


def _decision(sit: Situation, stop: Stop, notes: tuple[Note, ...]) -> Decision:
    status = structs.replace(stop.status, observed_generation=sit.seen.rollout.metadata.generation)
    if stop.problem is not None:
        status = structs.replace(status, message=stop.problem.message)
        notes += _said_once(stop.status, stop.problem)
    status = with_kstatus(mirrored(status), stop.problem, sit.now)
    status = settled(sit.seen.rollout.status, status)
    duties = _duties(sit, status)
    notes += config_release.notes_of(sit.seen.rollout.status, status, duties)
    return Decision(
        status=status,
        actions=(*duties, *stop.actions),
        wake_at=stop.wake_at,
        notes=notes,
    )


def _duties(sit: Situation, status: RolloutStatus) -> tuple[Action, ...]:
    """What every living Rollout sees to first: finalizer, plan hash, the label admission selects by, configuration."""
    meta = sit.seen.rollout.metadata
    if meta.deleting:
        return ()
    duties: tuple[Action, ...] = ()
    if (
        ROLLOUT_FINALIZER not in meta.finalizers
        or meta.annotations.get(PLAN_HASH) != sit.seen.plan_hash
    ):
        duties = (PrepareRollout(sit.seen.plan_hash),)
    if sit.seen.workload is not None and not sit.labelled and unsupported(sit) is None:
        label = sit.workload.kind.label
        duties += (LabelWorkload(sit.workload_key, label, sit.kind_name),)
    return (*duties, *config_release.config_duties(sit, status))


def unsupported(sit: Situation) -> Refusal | None:
    """What this version cannot release, said once and clearly instead of hanging."""
    spec = sit.seen.rollout.spec
    problem = sit.seen.workload_problem
    if problem is not None:
        return Refusal(
            problem.reason,
            problem.message,
            object=f"{spec.workload_ref.kind} {spec.workload_ref.name}",
        )
    if (unknown := autoscalers.unknown(sit)) is not None:
        return unknown
    doubles = sit.kind in (WorkloadKind.DEPLOYMENT, WorkloadKind.CLONE_SET)
    if sit.style is Style.BLUE_GREEN and not doubles:
        return Refusal(
            reasons.UNSUPPORTED_STYLE,
            f"spec.strategy: a {spec.workload_ref.kind} cannot be released blue-green, a Deployment or a CloneSet can: "
            "use canary",
        )
    if not sit.steps:
        return Refusal(reasons.INVALID_ROLLOUT, "spec.strategy: steps must not be empty")
    return None


def unseen_workload(sit: Situation) -> Refusal | None:
    """The workload, or its autoscalers, may be held by us and cannot be read now: the Rollout may not go without them.

    A kind that is not served any more has no objects, and one that cannot be released was never held.
    """
    if not position(sit.seen.rollout.status).release:
        return None
    problem = sit.seen.workload_problem
    if problem is None:
        return autoscalers.unknown(sit)
    if isinstance(problem.why, NotServed) or problem.reason == reasons.UNSUPPORTED_WORKLOAD:
        return None
    return Refusal(problem.reason, problem.message)


# --- phases -------------------------------------------------------------------------------------


def _turn(sit: Situation, status: RolloutStatus) -> Turn:
    rollout = sit.seen.rollout
    if rollout.metadata.deleting:
        return _terminating(sit, status)
    problem = unsupported(sit)
    if problem is not None:
        return Stop(structs.replace(status, phase=status.phase or Phase.INITIAL), problem=problem)
    if rollout.spec.disabled or status.phase == Phase.DISABLING:
        return _disabled(sit, status)
    if sit.seen.workload is None:
        return _without_workload(sit, status)
    status = config_release.followed(sit, status)
    changed_content = config_release.stamped(sit, status)
    if changed_content is not None:
        return changed_content
    match status.phase:
        case Phase.HEALTHY:
            return _healthy(sit, status)
        case Phase.PROGRESSING:
            return _progressing(sit, status)
        case _:
            return Advance(structs.replace(status, phase=Phase.HEALTHY))


def _healthy(sit: Situation, status: RolloutStatus) -> Turn:
    owner = marked_for(sit.workload.object)
    if owner == sit.seen.rollout.metadata.name:
        status = without_condition(status, "Progressing")
        begun = begin(
            sit, structs.replace(status, phase=Phase.PROGRESSING), stable_at_admission(sit)
        )
        # The position is written before anything is touched: should we crash and the workload vanish, it alone says
        # that a Service may be pinned.
        return Stop(begun.status, notes=begun.notes)
    if owner:
        problem = Refusal(
            reasons.WORKLOAD_TAKEN,
            f"{sit.workload_name} is being released by Rollout {owner}: one workload "
            "can have one Rollout",
            object=sit.workload_name,
        )
        return Stop(status, problem=problem)
    status, notes = _changed_unheld(sit, status)
    return Stop(_at_rest(sit, status), notes=notes)


def _changed_unheld(
    sit: Situation, status: RolloutStatus
) -> tuple[RolloutStatus, tuple[Note, ...]]:
    """A template that no release was about is said once, and is what runs from now on."""
    known = known_template(status)
    if not known and not sit.labelled and sit.old_revision_runs:
        # The template changed before the workload had the label that sends its changes to admission.
        return status, (Note(reasons.NOT_HELD, messages.NOT_HELD, Severity.WARNING),)
    if not known or known == sit.template_hash:
        return status, ()
    status = with_canary(about_this_template(sit, status), pod_template_hash=sit.present_revision)
    return status, (Note(reasons.NOT_HELD, messages.NOT_HELD, Severity.WARNING),)


def _at_rest(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    """What clients read between releases: a finished sub-status, kept up to date with the workload."""
    if not known_template(status):
        revision = sit.present_revision
        inner = sit.sub_status(
            rollout_hash=sit.seen.plan_hash,
            stable_revision=revision,
            canary_revision=revision_shown(sit, status),
            pod_template_hash=revision,
            current_step_index=len(sit.steps),
            next_step_index=-1,
            last_update_time=sit.now,
        )
        status = structs.replace(
            status.with_release(inner),
            message=messages.HEALTHY,
            moonshift=MoonshiftStatus(
                state=StepState.COMPLETED,
                template=sit.template_hash,
                config=position(status).config,
            ),
        )
    return with_canary(
        names_filled_in(sit, status),
        observed_rollout_id=sit.rollout_id,
        observed_workload_generation=sit.meta.generation,
        current_step_state=StepState.COMPLETED,
    )


def _progressing(sit: Situation, status: RolloutStatus) -> Turn:
    if completed(status):
        return Advance(structs.replace(status, phase=Phase.HEALTHY))
    return decide_release(sit, status)


def _without_workload(sit: Situation, status: RolloutStatus) -> Turn:
    if position(status).release:
        return workload_gone(sit, routing.noted_routes(sit, status))
    ref = sit.seen.rollout.spec.workload_ref
    waiting = structs.replace(
        status, phase=Phase.INITIAL, message=f"{messages.WORKLOAD_NOT_FOUND}: {ref.kind} {ref.name}"
    )
    return Stop(waiting)


def _disabled(sit: Situation, status: RolloutStatus) -> Turn:
    """Mid-way the workload goes on to its new template natively, once traffic is back on stable."""
    status = config_release.without_config(routing.noted_routes(sit, status))
    busy = status.phase in (Phase.PROGRESSING, Phase.DISABLING)
    goal = Goal.DISABLED if sit.seen.workload is not None else Goal.WORKLOAD_GONE
    stop = finalise(sit, status, goal)
    if stop is not None:
        leaving = structs.replace(stop.status, phase=Phase.DISABLING, message=messages.DISABLING)
        return structs.replace(stop, status=leaving)
    actions: tuple[Action, ...] = ()
    if busy:
        actions = recorded(sit, status, Outcome.DISABLED)
        status = progressing(ended(sit, status), reasons.COMPLETED, messages.DISABLED, sit.now)
    done = structs.replace(status, phase=Phase.DISABLED, message=messages.DISABLED)
    if sit.seen.rollout.spec.disabled:
        return Stop(done, actions)
    return Advance(done, actions=actions)


def _terminating(sit: Situation, status: RolloutStatus) -> Turn:
    status = routing.noted_routes(sit, status)
    status = structs.replace(status, phase=Phase.TERMINATING, message=messages.TERMINATING)
    status = with_condition(
        status, "Terminating", "True", reasons.IN_TERMINATING, messages.TERMINATING, sit.now
    )
    if ROLLOUT_FINALIZER not in sit.seen.rollout.metadata.finalizers:
        return Stop(_terminated(sit, status))
    problem = unseen_workload(sit)
    if problem is not None:
        return Stop(status, problem=problem)
    has_workload = sit.seen.workload is not None
    stop = finalise(sit, status, Goal.DELETING if has_workload else Goal.WORKLOAD_GONE)
    if stop is not None:
        return stop
    under_way = bool(position(status).release)
    record = recorded(sit, status, Outcome.DELETED) if under_way else ()
    return Stop(_terminated(sit, status), (*record, RemoveFinalizer()))


def _terminated(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    return with_condition(status, "Terminating", "False", reasons.COMPLETED, "", sit.now)
