"""The decision about a whole Rollout: `decide`, the one entry of this room, and the table of phases.

Invariant: pure. A pass goes through states until one of them stops it with actions or a wait. It goes through phases in
the same way, so a release that needs nothing more is Healthy in the same write that completed it.
"""

from datetime import datetime

from msgspec import structs

from controller.api.names import PLAN_HASH, ROLLOUT_FINALIZER, WORKLOAD_TYPE
from controller.api.rollout import BUSY_PHASES, MoonshiftStatus, Phase, RolloutStatus, StepState
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.availability import NotServed, or_correct
from controller.domain.decision import (
    Action,
    Decision,
    Note,
    PauseAutoscaler,
    PrepareRollout,
    Refusal,
    RemoveFinalizer,
    SetMetadata,
    Severity,
)
from controller.domain.history import Outcome
from controller.domain.observation import Observation
from controller.domain.pods.marks import hold_on
from controller.domain.rollout.beginning import begin, stable_at_admission
from controller.domain.rollout.ends.finalising import finalise
from controller.domain.rollout.ends.reported import End, abandoned
from controller.domain.rollout.left_behind import without_a_release
from controller.domain.rollout.moving import autoscalers, config_release
from controller.domain.rollout.release import (
    OF_THE_PODS,
    OF_THE_STEP,
    OF_THE_WORKLOAD,
    completed,
    continue_exchange,
    decide_release,
    ended,
    own_template_first,
    workload_gone,
)
from controller.domain.rollout.routes import empty_side_record, empty_side_routes, routing
from controller.domain.rollout.routes.claiming import claiming, left_at_rest
from controller.domain.rollout.taking_over import taking_over
from controller.domain.rollout.trouble.disturbances import Disturbance, first_answer, when
from controller.domain.rollout.trouble.kept import corrected, dropping, keeping
from controller.domain.rollout.trusted import trusted
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.recording import recorded
from controller.domain.rollout.words.release_context import Style, known_template, moonshift_status
from controller.domain.rollout.words.release_value import Release, as_stored
from controller.domain.rollout.words.showing import (
    about_this_template,
    names_filled_in,
    revision_shown,
)
from controller.domain.rollout.words.status import (
    condition,
    mirrored,
    settled,
    with_kstatus,
    without_condition,
)
from controller.domain.rollout.words.transition import Stop, Transition
from controller.domain.rollout.words.way_out import MISSING, as_it_may_be_solved
from controller.domain.traffic.drift.reaction import without_put_back

MAX_TRANSITIONS = 64
"""A pass goes through far fewer states; reaching this number is a defect, and stops the pass instead of the process."""


def decide(seen: Observation, now: datetime) -> Decision:
    """The decision about this Rollout, from all that is known of it at `now`."""
    release, doubts = trusted(as_stored(seen, now))
    release, corrections = corrected(release)
    notes = (*doubts, *corrections)
    release = empty_side_record.noted(release)
    actions: tuple[Action, ...] = ()
    for _ in range(MAX_TRANSITIONS):
        transition = _transition(release)
        notes += transition.notes
        actions += transition.actions
        release = release.at(transition.status)
        if isinstance(transition, Stop):
            stop = structs.replace(transition, actions=actions)
            return _decision(release, empty_side_routes.with_shares_led_away(release, stop), notes)
    note = Note(reasons.LOOPING, f"no rest in state {release.ours.state}", Severity.WARNING)
    return _decision(release, release.stop(), (*notes, note))


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
    decision = without_put_back(decision, undone, seen.rollout.status.conditions)
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


def _decision(release: Release, stop: Stop, notes: tuple[Note, ...]) -> Decision:
    status = structs.replace(
        stop.status, observed_generation=release.seen.rollout.metadata.generation
    )
    if stop.problem is not None:
        status = structs.replace(status, message=stop.problem.message)
        notes = _with_problem(notes, _reported_once(stop.status, stop.problem))
    status = with_kstatus(mirrored(status), stop.problem, release.now)
    status = settled(release.stored, status)
    housekeeping = _housekeeping(release.at(status))
    notes += config_release.notes_of(release.stored, status, housekeeping)
    actions = (*stop.urgent, *housekeeping, *stop.actions)
    return Decision(
        status=status,
        actions=actions,
        wake_at=stop.wake_at,
        notes=notes,
        brief=stop.brief and stop.problem is None and not actions,
    )


def _housekeeping(release: Release) -> tuple[Action, ...]:
    """The housekeeping of every Rollout that is not being deleted: finalizer, plan hash, the label that admission
    selects by, configuration.
    """
    meta = release.seen.rollout.metadata
    if meta.deleting:
        return ()
    housekeeping: tuple[Action, ...] = ()
    if (
        ROLLOUT_FINALIZER not in meta.finalizers
        or meta.annotations.get(PLAN_HASH) != release.seen.plan_hash
    ):
        housekeeping = (PrepareRollout(release.seen.plan_hash),)
    if release.seen.workload is not None and not release.labelled and unsupported(release) is None:
        housekeeping += (_labelled_as_workload(release),)
    housekeeping += keeping(release)
    if release.ours.template_exchange:
        return housekeeping
    return (*housekeeping, *config_release.config_housekeeping(release))


def _labelled_as_workload(release: Release) -> SetMetadata:
    """The workload has the label that admission selects workloads by."""
    label: dict[str, str | None] = {WORKLOAD_TYPE: release.workload.kind.label}
    return SetMetadata(release.kind_name, release.workload_key, release.meta.uid, labels=label)


def unsupported(release: Release) -> Refusal | None:
    """A refusal of workloads and plans that this version cannot release."""
    spec = release.seen.rollout.spec
    problem = release.seen.workload_problem
    if problem is not None:
        is_fixed = release.status.phase in BUSY_PHASES
        correctable = or_correct(problem.message, problem.why, "apiVersion and kind")
        return Refusal(
            problem.reason,
            problem.message if is_fixed else correctable,
            object=f"{spec.workload_ref.kind} {spec.workload_ref.name}",
        )
    if (unknown := autoscalers.unknown(release)) is not None:
        return unknown
    doubles = release.kind in (WorkloadKind.DEPLOYMENT, WorkloadKind.CLONE_SET)
    if release.style is Style.BLUE_GREEN and not doubles:
        return Refusal(
            reasons.UNSUPPORTED_STYLE,
            f"spec.strategy: a {spec.workload_ref.kind} cannot be released blue-green, a Deployment or a CloneSet can: "
            "use canary",
        )
    if not release.steps:
        return Refusal(reasons.INVALID_ROLLOUT, "spec.strategy: steps must not be empty")
    return None


def unseen_workload(release: Release) -> Refusal | None:
    """The workload, or its autoscalers, may be held by us and cannot be read now: the Rollout must not be removed
    before them.

    A kind that is no longer served has no objects, and a workload that cannot be released was never held.
    """
    if not release.ours.release:
        return None
    problem = release.seen.workload_problem
    if problem is None:
        return autoscalers.unknown(release)
    if isinstance(problem.why, NotServed) or problem.reason == reasons.UNSUPPORTED_WORKLOAD:
        return None
    return Refusal(problem.reason, problem.message)


# --- phases -------------------------------------------------------------------------------------


def _transition(release: Release) -> Transition:
    return first_answer(OF_THE_ROLLOUT, release) or _in_its_phase(config_release.followed(release))


def _cannot_be_released(release: Release) -> Stop | None:
    problem = unsupported(release)
    if problem is None:
        return None
    return release.reporting(phase=release.status.phase or Phase.INITIAL).stop(problem=problem)


def _is_deleted(release: Release) -> bool:
    return release.seen.rollout.metadata.deleting


def _is_disabled(release: Release) -> bool:
    return release.seen.rollout.spec.disabled or release.status.phase == Phase.DISABLING


def _has_no_workload(release: Release) -> bool:
    return release.seen.workload is None


def _exchanges_its_template(release: Release) -> bool:
    return bool(release.ours.template_exchange)


def _in_its_phase(release: Release) -> Transition:
    """The next transition of a Rollout whose workload exists; a change of its content comes first."""
    changed_content = config_release.stamped(release)
    if changed_content is not None:
        return changed_content
    match release.status.phase:
        case Phase.HEALTHY:
            return _healthy(release)
        case Phase.PROGRESSING:
            return _progressing(release)
        case Phase.DISABLED:
            return release.reporting(phase=Phase.HEALTHY, message=messages.HEALTHY).go_on()
        case _:
            return release.reporting(phase=Phase.HEALTHY).go_on()


def _healthy(release: Release) -> Transition:
    owner = hold_on(release.workload.object).rollout
    if owner == release.seen.rollout.metadata.name:
        release = release.without_condition("Progressing")
        begun = begin(release.reporting(phase=Phase.PROGRESSING), stable_at_admission(release))
        # The status is written before anything is changed: if the process stops and the workload disappears, only the
        # status shows that a Service may be pinned.
        return Stop(begun.status, notes=begun.notes)
    if owner:
        problem = Refusal(
            reasons.WORKLOAD_TAKEN,
            f"{release.workload_name} is being released by Rollout {owner}: one workload "
            "can have one Rollout",
            object=release.workload_name,
        )
        return release.stop(problem=problem)
    left = without_a_release(release) or left_at_rest(release)
    if left is not None:
        return left
    if _is_about_another_workload(release):
        release = release.at(_without_past(release.status))
    release, notes = _changed_unfrozen(release)
    return _at_rest(release).stop(notes=notes)


def _is_about_another_workload(release: Release) -> bool:
    """The Rollout names another workload now, or the workload was deleted and created again."""
    ours = release.ours
    known = ours.template_of or ours.workload_uid
    return bool(known) and known != release.meta.uid


def _without_past(status: RolloutStatus) -> RolloutStatus:
    """The status without the facts about the former workload, whose template must not be compared with this one's."""
    ours = moonshift_status(status)
    kept = MoonshiftStatus(config=ours.config, failed_template=ours.failed_template)
    return structs.replace(
        without_condition(without_condition(status, "Progressing"), "Succeeded").with_release(None),
        moonshift=kept,
    )


def _changed_unfrozen(release: Release) -> tuple[Release, tuple[Note, ...]]:
    """A template that was not released in steps is reported once, and is the stable one from now on."""
    known = known_template(release.status)
    if not known and not release.labelled and release.old_revision_runs:
        # The template changed before the workload had the label that sends its changes to admission.
        return release, (Note(reasons.NOT_HELD, messages.NOT_HELD, Severity.WARNING),)
    if not known or known == release.template_hash:
        return release, ()
    release = about_this_template(release).showing(pod_template_hash=release.present_revision)
    if release.replicas == 0:
        return release, (Note(reasons.NOT_HELD, messages.CHANGED_AT_ZERO),)
    return release, (Note(reasons.NOT_HELD, messages.NOT_HELD, Severity.WARNING),)


def _at_rest(release: Release) -> Release:
    """The status that clients read between releases: a finished sub-status, updated from the workload."""
    if not known_template(release.status):
        revision = release.present_revision
        inner = release.sub_status(
            rollout_hash=release.seen.plan_hash,
            stable_revision=revision,
            canary_revision=revision_shown(release),
            pod_template_hash=revision,
            current_step_index=len(release.steps),
            next_step_index=-1,
            last_update_time=release.now,
        )
        release = release.at(
            structs.replace(
                release.status.with_release(inner),
                message=messages.HEALTHY,
                moonshift=MoonshiftStatus(
                    state=StepState.COMPLETED,
                    template=release.template_hash,
                    template_of=release.meta.uid,
                    config=release.ours.config,
                    failed_template=release.ours.failed_template,
                ),
            )
        )
    return names_filled_in(release).showing(
        observed_rollout_id=release.rollout_id,
        observed_workload_generation=release.meta.generation,
        current_step_state=StepState.COMPLETED,
    )


def _progressing(release: Release) -> Transition:
    if completed(release.status):
        return release.reporting(phase=Phase.HEALTHY).go_on()
    return decide_release(release)


def _without_workload(release: Release) -> Transition:
    if release.ours.release:
        return workload_gone(routing.noted_routes(release))
    ref = release.seen.rollout.spec.workload_ref
    waiting = release.reporting(
        phase=Phase.INITIAL, message=f"{messages.WORKLOAD_NOT_FOUND}: {ref.kind} {ref.name}"
    )
    return waiting.stop()


def _disabled(release: Release) -> Transition:
    """During a release the workload's own controller completes the update to the new template, after traffic has
    returned to stable."""
    release = release.at(config_release.without_config(routing.noted_routes(release).status))
    busy = release.status.phase in (Phase.PROGRESSING, Phase.DISABLING)
    goal = Goal.DISABLED if release.seen.workload is not None else Goal.WORKLOAD_GONE
    stop = own_template_first(release) or finalise(release, goal)
    if stop is not None:
        leaving = structs.replace(stop.status, phase=Phase.DISABLING, message=messages.DISABLING)
        return stop.at(leaving)
    actions: tuple[Action, ...] = ()
    notes: tuple[Note, ...] = ()
    if busy:
        actions = recorded(release, Outcome.DISABLED)
        notes = (abandoned(End.DISABLED),) if release.ours.release else ()
        release = ended(release).progressing(reasons.COMPLETED, messages.DISABLED)
    done = release.reporting(phase=Phase.DISABLED, message=messages.DISABLED)
    if release.seen.rollout.spec.disabled:
        return done.stop(*actions, notes=notes)
    return done.go_on(*notes, actions=actions)


def _terminating(release: Release) -> Transition:
    release = routing.noted_routes(release)
    release = release.reporting(phase=Phase.TERMINATING, message=messages.TERMINATING)
    release = release.with_condition(
        "Terminating", "True", reasons.IN_TERMINATING, messages.TERMINATING
    )
    if ROLLOUT_FINALIZER not in release.seen.rollout.metadata.finalizers:
        return _terminated(release).stop()
    problem = unseen_workload(release)
    if problem is not None:
        return release.stop(problem=problem)
    has_workload = release.seen.workload is not None
    goal = Goal.DELETING if has_workload else Goal.WORKLOAD_GONE
    stop = own_template_first(release) or finalise(release, goal)
    if stop is not None:
        return stop
    if not release.ours.release:
        return _terminated(release).stop(*dropping(release), RemoveFinalizer())
    record = recorded(release, Outcome.DELETED)
    note = abandoned(End.DELETED)
    return _terminated(release).stop(*record, *dropping(release), RemoveFinalizer(), notes=(note,))


def _terminated(release: Release) -> Release:
    return release.with_condition("Terminating", "False", reasons.COMPLETED, "")


# --- the order of rank --------------------------------------------------------------------------

OF_THE_ROLLOUT = (
    Disturbance("OpenKruise Rollouts has left the release: it is taken over.", taking_over),
    Disturbance("A former Rollout of this name has left objects: they are claimed.", claiming),
    Disturbance("The Rollout is deleted.", when(_is_deleted, _terminating)),
    Disturbance("The workload or the plan cannot be released.", _cannot_be_released),
    Disturbance("The Rollout is disabled.", when(_is_disabled, _disabled)),
    Disturbance("The workload is gone.", when(_has_no_workload, _without_workload)),
    Disturbance(
        "A DaemonSet has its stable template for a short time: it gets the other one back.",
        when(_exchanges_its_template, continue_exchange),
    ),
)
"""Asked in every phase of a Rollout."""

DISTURBANCES = (*OF_THE_ROLLOUT, *OF_THE_WORKLOAD, *OF_THE_PODS, *OF_THE_STEP)
"""All of them, in the order in which they are asked; after them comes the step itself."""
