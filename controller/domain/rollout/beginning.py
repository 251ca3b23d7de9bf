"""The beginning of a release: its stable revision, its first status, and the check before the first move.

Invariant: the stable revision is decided at admission and kept; a later pass decides it again only for a revision that
came in between. Must not move a pod or a route.
"""

from msgspec import structs

from controller.api import names
from controller.api.rollout import CanaryStatus, MoonshiftStatus, RolloutStatus, StepState
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import is_label_value
from controller.domain import reasons
from controller.domain.decision import Note, Refusal
from controller.domain.pods.running import returns_by_itself, stable_of_set
from controller.domain.rollout import messages, routing, services
from controller.domain.rollout.analysing import gate_that_cannot_be_asked
from controller.domain.rollout.by_id import asked_by_id, stable_by_id
from controller.domain.rollout.finalising import Goal
from controller.domain.rollout.jump import following
from controller.domain.rollout.last_endpoints import services_without_endpoints
from controller.domain.rollout.moving.from_zero import undo_leads_to_stable
from controller.domain.rollout.naming import new_in_words, stable_in_words
from controller.domain.rollout.release_context import (
    ReleaseContext,
    known_template,
    moonshift_status,
)
from controller.domain.rollout.reverting import held_as_failed
from controller.domain.rollout.shared_routing import is_not_admitted, join
from controller.domain.rollout.showing import revision_shown
from controller.domain.rollout.status import (
    progressing,
    with_moonshift_status,
    without_condition,
)
from controller.domain.rollout.step_history import opened
from controller.domain.rollout.transition import Continue, Stop, Transition
from controller.domain.traffic.drift.policy import DRIFTED


def begin(context: ReleaseContext, status: RolloutStatus, stable: tuple[str, str]) -> Continue:
    """Start a release at step 1: record the stable revision and reset the status of the release before.

    `stable` is the revision and the template hash of the running pods.
    """
    by_id = asked_by_id(context)
    stable = stable_by_id(context, stable) if by_id else stable
    before = stable_in_words(context, stable[0])
    ours = MoonshiftStatus(
        release=context.identity,
        by_id=by_id,
        revision=context.template_hash,
        template=context.template_hash,
        step=1,
        step_plan=context.step(1).identity,
        step_replicas=context.step(1).replicas,
        state=StepState.BEFORE_STEP_UPGRADE,
        state_since=context.now,
        workload_uid=context.meta.uid,
        stable_revision=stable[0],
        stable_template=stable[1],
        stable_words=before,
        older_revisions=_older_revisions(context, status, stable[0]),
        failed_template=moonshift_status(status).failed_template,
        config=moonshift_status(status).config,
        visits=opened((), 1, context.now),
        started_at=context.now,
        route_plan=routing.observed_plan(context) or "",
        empty_sides=moonshift_status(status).empty_sides,
        services_empty_before=_services_empty_before(context, status),
    )
    shown = _first_step(context, status, stable[0])
    status = structs.replace(status.with_release(shown), moonshift=ours)
    status = without_condition(without_condition(status, "Succeeded"), DRIFTED)
    status = progressing(status, reasons.INITIALIZING, messages.INITIALIZING, context.now)
    text = f"release of {new_in_words(context)} started; stable is {before or 'unknown'}"
    return Continue(status, (Note(reasons.RELEASE_STARTED, text),))


def _older_revisions(
    context: ReleaseContext, status: RolloutStatus, stable: str
) -> tuple[str, ...]:
    """Revisions of a set of pods that run beside the stable one, and that no release of this Rollout made.

    A release that begins again after another one was abandoned keeps the record of that one.
    """
    known = moonshift_status(status)
    if context.kind is WorkloadKind.DEPLOYMENT:
        return ()
    running = [run for run in context.running if run.template_hash != context.template_hash]
    if known.release:
        running = [run for run in running if run.name in known.older_revisions]
    return tuple(run.name for run in running if run.name != stable)


def _services_empty_before(context: ReleaseContext, status: RolloutStatus) -> tuple[str, ...]:
    """A release that begins again keeps the record of the one that was abandoned."""
    known = moonshift_status(status)
    return known.services_empty_before if known.release else services_without_endpoints(context)


def _first_step(
    context: ReleaseContext, status: RolloutStatus, stable_revision: str
) -> CanaryStatus:
    """The fields that clients of the original read."""
    return context.sub_status(
        observed_workload_generation=context.meta.generation,
        observed_rollout_id=context.rollout_id,
        rollout_hash=context.seen.plan_hash,
        stable_revision=stable_revision,
        canary_revision=revision_shown(context, status),
        current_step_index=1,
        next_step_index=following(context, 1),
        current_step_state=StepState.BEFORE_STEP_UPGRADE,
        last_update_time=context.now,
    )


def check_before_the_first_move(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """Check before the first move that all objects in the plan exist and can be read."""
    problem = (
        held_as_failed(context, status)
        or services.unusable_services(context, status)
        or routing.unreadable_routes(context, status)
        or routing.unsupported_step(context)
        or gate_that_cannot_be_asked(context, status)
        or _id_that_pods_cannot_have(context)
    )
    if problem is not None:
        return Stop(status, problem=problem)
    # Time spent waiting before the first move does not count for the first step.
    begun = with_moonshift_status(
        status, visits=opened((), moonshift_status(status).step, context.now)
    )
    waits = join(context, status) or is_not_admitted(context, status)
    return waits or Continue(in_rolling(context, begun))


def _id_that_pods_cannot_have(context: ReleaseContext) -> Refusal | None:
    """An annotation may contain any text, and each new pod gets the id as a label."""
    if is_label_value(context.rollout_id):
        return None
    return Refusal(
        reasons.UNSUPPORTED_WORKLOAD,
        f"{context.workload_name}: its {names.ROLLOUT_ID} {context.rollout_id!r} cannot be a label of its pods: use at "
        "most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends",
        object=context.workload_name,
    )


def in_rolling(context: ReleaseContext, status: RolloutStatus) -> RolloutStatus:
    text = messages.in_step(context, moonshift_status(status).step, messages.UPGRADING)
    return progressing(status, reasons.IN_ROLLING, text, context.now)


def stable_at_admission(context: ReleaseContext) -> tuple[str, str]:
    """Revision and template hash of the running pods: decided once, at admission, and kept in a label."""
    if context.workload.kind is not WorkloadKind.DEPLOYMENT:
        return stable_of_set(context.workload, context.owners)
    label = context.meta.labels.get(names.STABLE_REVISION, "")
    for replica_set, hashed in context.workload.replica_sets:
        if replica_set.revision == label:
            return label, hashed
    others = [run for run in context.running if run.template_hash != context.template_hash]
    return (others[0].name, others[0].template_hash) if others else ("", "")


def stable_after(context: ReleaseContext, status: RolloutStatus) -> tuple[str, str]:
    """The stable revision after another revision came: a revision that replaced all or most pods of the old one, as it
    was meant to.

    Every pass computes the same answer until the release begins again.
    """
    ours = moonshift_status(status)
    runs = {
        run.name: (run.size, run.template_hash)
        for run in context.running
        if run.template_hash != context.template_hash
    }
    if ours.stable_revision not in runs and returns_by_itself(
        context.workload, ours.stable_revision
    ):
        return ours.stable_revision, ours.stable_template
    if ours.goal != Goal.SUCCESS and undo_leads_to_stable(context, status):
        return ours.stable_revision, ours.stable_template
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
