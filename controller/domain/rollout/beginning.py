"""The beginning of a release: its stable revision, its first status, and the check before the first move.

Invariant: the stable revision is decided at admission and kept; a later pass decides it again only for a revision that
came in between. Must not move a pod or a route.
"""

from msgspec import structs

from controller.api import names
from controller.api.rollout import CanaryStatus, MoonshiftStatus, StepState
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import is_label_value
from controller.domain import reasons
from controller.domain.decision import Note, Refusal
from controller.domain.pods.running import returns_by_itself, stable_of_set
from controller.domain.rollout.approvals.analysing import gate_that_cannot_be_asked
from controller.domain.rollout.approvals.checking import check_that_cannot_be_asked
from controller.domain.rollout.approvals.jump import following
from controller.domain.rollout.ends.last_endpoints import services_without_endpoints
from controller.domain.rollout.moving.from_zero import undo_leads_to_stable
from controller.domain.rollout.routes import routing, services
from controller.domain.rollout.routes.shared_routing import is_not_admitted, join
from controller.domain.rollout.trouble.reverting import held_as_failed
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.by_id import asked_by_id, stable_by_id
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.naming import new_in_words, stable_in_words
from controller.domain.rollout.words.release_context import known_template
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.showing import revision_shown
from controller.domain.rollout.words.step_history import opened
from controller.domain.rollout.words.transition import Continue, Transition
from controller.domain.traffic.drift.policy import DRIFTED


def begin(release: Release, stable: tuple[str, str]) -> Continue:
    """Start a release at step 1: record the stable revision and reset the status of the release before.

    `stable` is the revision and the template hash of the running pods.
    """
    by_id = asked_by_id(release)
    stable = stable_by_id(release, stable) if by_id else stable
    before = stable_in_words(release, stable[0])
    ours = MoonshiftStatus(
        release=release.identity,
        by_id=by_id,
        revision=release.template_hash,
        template=release.template_hash,
        step=1,
        step_plan=release.step(1).identity,
        step_replicas=release.step(1).replicas,
        state=StepState.BEFORE_STEP_UPGRADE,
        state_since=release.now,
        workload_uid=release.meta.uid,
        stable_revision=stable[0],
        stable_template=stable[1],
        stable_words=before,
        older_revisions=_older_revisions(release, stable[0]),
        failed_template=release.ours.failed_template,
        config=release.ours.config,
        visits=opened((), 1, release.now),
        started_at=release.now,
        route_plan=routing.observed_plan(release) or "",
        empty_sides=release.ours.empty_sides,
        services_empty_before=_services_empty_before(release),
    )
    shown = _first_step(release, stable[0])
    release = release.at(structs.replace(release.status.with_release(shown), moonshift=ours))
    release = release.without_condition("Succeeded").without_condition(DRIFTED)
    release = release.progressing(reasons.INITIALIZING, messages.INITIALIZING)
    text = f"release of {new_in_words(release)} started; stable is {before or 'unknown'}"
    return release.go_on(Note(reasons.RELEASE_STARTED, text))


def _older_revisions(release: Release, stable: str) -> tuple[str, ...]:
    """Revisions of a set of pods that run beside the stable one, and that no release of this Rollout made.

    A release that begins again after another one was abandoned keeps the record of that one.
    """
    known = release.ours
    if release.kind is WorkloadKind.DEPLOYMENT:
        return ()
    running = [run for run in release.running if run.template_hash != release.template_hash]
    if known.release:
        running = [run for run in running if run.name in known.older_revisions]
    return tuple(run.name for run in running if run.name != stable)


def _services_empty_before(release: Release) -> tuple[str, ...]:
    """A release that begins again keeps the record of the one that was abandoned."""
    known = release.ours
    return known.services_empty_before if known.release else services_without_endpoints(release)


def _first_step(release: Release, stable_revision: str) -> CanaryStatus:
    """The fields that clients of the original read."""
    return release.sub_status(
        observed_workload_generation=release.meta.generation,
        observed_rollout_id=release.rollout_id,
        rollout_hash=release.seen.plan_hash,
        stable_revision=stable_revision,
        canary_revision=revision_shown(release),
        current_step_index=1,
        next_step_index=following(release, 1),
        current_step_state=StepState.BEFORE_STEP_UPGRADE,
        last_update_time=release.now,
    )


def check_before_the_first_move(release: Release) -> Transition:
    """Check before the first move that all objects in the plan exist and can be read."""
    problem = (
        held_as_failed(release)
        or services.unusable_services(release)
        or routing.unreadable_routes(release)
        or routing.unsupported_step(release)
        or gate_that_cannot_be_asked(release)
        or check_that_cannot_be_asked(release)
        or _id_that_pods_cannot_have(release)
    )
    if problem is not None:
        return release.stop(problem=problem)
    # Time spent waiting before the first move does not count for the first step.
    begun = release.noting(visits=opened((), release.ours.step, release.now))
    waits = join(release) or is_not_admitted(release)
    return waits or in_rolling(begun).go_on()


def _id_that_pods_cannot_have(release: Release) -> Refusal | None:
    """An annotation may contain any text, and each new pod gets the id as a label."""
    if is_label_value(release.rollout_id):
        return None
    return Refusal(
        reasons.UNSUPPORTED_WORKLOAD,
        f"{release.workload_name}: its {names.ROLLOUT_ID} {release.rollout_id!r} cannot be a label of its pods: use at "
        "most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends",
        object=release.workload_name,
    )


def in_rolling(release: Release) -> Release:
    text = messages.in_step(release, release.ours.step, messages.UPGRADING)
    return release.progressing(reasons.IN_ROLLING, text)


def stable_at_admission(release: Release) -> tuple[str, str]:
    """Revision and template hash of the running pods: decided once, at admission, and kept in a label."""
    if release.workload.kind is not WorkloadKind.DEPLOYMENT:
        return stable_of_set(release.workload, release.owners)
    label = release.meta.labels.get(names.STABLE_REVISION, "")
    for replica_set, hashed in release.workload.replica_sets:
        if replica_set.revision == label:
            return label, hashed
    others = [run for run in release.running if run.template_hash != release.template_hash]
    return (others[0].name, others[0].template_hash) if others else ("", "")


def stable_after(release: Release) -> tuple[str, str]:
    """The stable revision after another revision came: a revision that replaced all or most pods of the old one, as it
    was meant to.

    Every pass computes the same answer until the release begins again.
    """
    ours = release.ours
    runs = {
        run.name: (run.size, run.template_hash)
        for run in release.running
        if run.template_hash != release.template_hash
    }
    if ours.stable_revision not in runs and returns_by_itself(
        release.workload, ours.stable_revision
    ):
        return ours.stable_revision, ours.stable_template
    if ours.goal != Goal.SUCCESS and undo_leads_to_stable(release):
        return ours.stable_revision, ours.stable_template
    present = known_template(release.status)
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
