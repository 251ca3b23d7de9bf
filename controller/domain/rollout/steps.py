"""The step machine: create pods, wait until ready, route, grace period, remove the old share, metrics, pause, next
step.

Invariant: one function per state; a state that needs nothing is passed through. In every step pods come before traffic,
so traffic never reaches pods that are not ready; only pinning the stable Service comes before the pods.
"""

from typing import assert_never

from msgspec import structs

from controller.api.checks import CheckPlace
from controller.api.rollout import StepState
from controller.domain import reasons
from controller.domain.decision import Action, Note
from controller.domain.rollout.approvals import analysing, checking, pause
from controller.domain.rollout.approvals.jump import go_to
from controller.domain.rollout.ends import last_endpoints
from controller.domain.rollout.moving import autoscalers, batches
from controller.domain.rollout.moving.from_zero import largest_visited_batch, leaves_stable_pods
from controller.domain.rollout.moving.returning import pods_to_label
from controller.domain.rollout.routes import (
    announcing,
    confirming,
    other_workloads,
    restoring,
    routing,
    services,
)
from controller.domain.rollout.routes.rehearsing import rehearsal_of_objects
from controller.domain.rollout.routes.shared_routing import hindrance, join, shared_route_is_closed
from controller.domain.rollout.styles import nodes_from_zero
from controller.domain.rollout.styles.choice import mechanism_of
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.release_context import Style, moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Continue, Stop, Transition
from controller.domain.target import Pinned, Traffic
from controller.domain.traffic.drift.reaction import notes_of_drift


def decide_step(release: Release) -> Transition:
    """The next transition of a release without a disturbance."""
    state = StepState(release.ours.state)
    match state:
        case StepState.BEFORE_STEP_UPGRADE:
            return _before_upgrade(release)
        case StepState.STEP_UPGRADE:
            return _upgrade(release)
        case StepState.STEP_TRAFFIC_ROUTING:
            return _route(release)
        case StepState.STEP_METRICS_ANALYSIS:
            return _analyse(release)
        case StepState.STEP_PAUSED:
            return _paused(release)
        case StepState.STEP_READY:
            return _next_step(release)
        case StepState.COMPLETED:
            return release.stop()
        case _:
            assert_never(state)


def _upgrading(release: Release) -> Release:
    text = messages.in_step(release, release.ours.step, messages.UPGRADING)
    return release.progressing(reasons.IN_ROLLING, text)


def _before_upgrade(release: Release) -> Transition:
    """A step without traffic settings starts from the original routes.

    Except a step that replaces all pods: its routes stay until every pod is new, because the new revision's share would
    fall otherwise.
    """
    checks = checking.before_pods(release)
    waits = checking.waits_before_pods(checks)
    if waits is not None:
        return waits
    index = release.ours.step
    release = _upgrading(checks.release)
    if release.target(index).traffic is Traffic.ORIGINAL:
        restored = _following_pods(release, index) or restoring.restore(release)
        if restored is not None:
            return restored.also(notes=checks.notes)
    mixed = routing.revisions_are_mixed(release) or other_workloads.would_empty_a_subset(
        release, index
    )
    if mixed is not None:
        return release.stop(problem=mixed, notes=checks.notes)
    return release.entering(StepState.STEP_UPGRADE).go_on(*checks.notes)


def _following_pods(release: Release, index: int) -> Stop | None:
    """The stable Services select every revision before the routes send them everything: few old pods may be left."""
    if not release.routes_lead or release.target(index).pinned is not Pinned.NO:
        return None
    actions = services.unpin(release)
    waits = bool(actions) or services.stable_services_miss_new_pods(release)
    return release.stop(*actions) if waits else None


def _upgrade(release: Release) -> Transition:
    """The step's pods: created, ready, labelled; without traffic settings the old share is removed at once."""
    index = release.ours.step
    release = _upgrading(release)
    emptied = _would_empty_a_service(release, index)
    if emptied is not None:
        return emptied
    pins = services.pin(release, index)
    if _position_comes_first(release):
        return release.stop(*pins)
    blocked = mechanism_of(release).preconditions(release)
    if blocked is not None:
        first = (*rehearsal_of_objects(release, pins), *pins)
        return blocked.also(first=first, notes=other_workloads.warnings(release, pins))
    alone = release.target(index).traffic is Traffic.AS_BEFORE
    if alone and (pins or services.stable_services_miss_new_pods(release)):
        # No old pod is removed before the un-pinned Services have the new pods among their endpoints.
        return release.stop(*pins)
    counted = release.ready(release.new_pods)
    release, announcements = announcing.announce(release, index)
    actions = (*pins, *_pods_of_step(release, index), *announcements)
    if actions:
        warned = other_workloads.warnings(release, pins)
        rehearsed = rehearsal_of_objects(release, actions)
        actions = (*routing.rehearsal(release, index), *rehearsed, *actions)
        return release.stop(*actions, notes=warned, wake_at=counted.next_at)
    if not batches.batch_is_ready(release, index, counted):
        return release.stop(wake_at=counted.next_at)
    done = Note(reasons.STEP_UPGRADED, f"upgrade step({index}) canary pods with new versions done")
    return release.entering(StepState.STEP_TRAFFIC_ROUTING).go_on(done)


def _would_empty_a_service(release: Release, index: int) -> Stop | None:
    """The step removes the last old pod, and a stable Service selects no new one."""
    if not (release.target(index).replaces_all and release.old_revision_runs):
        return None
    problem = last_endpoints.selects_none_of_the_template(release)
    return release.stop(problem=problem) if problem is not None else None


def _position_comes_first(release: Release) -> bool:
    """The step's pods would look like changes by people while the status still has the step before.

    So the step is stored first. A controller that was killed between the move and its status found no stable pod at a
    step that leaves some, concluded that the workload had been at zero replicas, and began the release again. For a
    DaemonSet it concluded that nodes had joined, and replaced the new pods.
    """
    stored = release.at(release.stored)
    if nodes_from_zero.is_daemon_set(release):
        return largest_visited_batch(stored) < largest_visited_batch(release)
    return leaves_stable_pods(stored) and not leaves_stable_pods(release)


def _pods_of_step(release: Release, index: int) -> tuple[Action, ...]:
    """The actions that create and label a step's pods; the canary Service follows as soon as their revision is
    known.
    """
    moves = mechanism_of(release).grow(
        release,
        index,
        release.ready(release.new_pods),
        give_back=not release.step(index).routes_traffic,
    )
    copies: tuple[Action, ...] = ()
    if release.target(index).traffic is Traffic.DIVIDED:
        copies = services.canary_services(release)
    return (
        *moves,
        *copies,
        *batches.missing_labels(release, pods_to_label(release)),
    )


def _route(release: Release) -> Transition:
    """The step's routes, and the old share of the pods after their grace period."""
    index = release.ours.step
    regrown = mechanism_of(release).regrow(release, index)
    if regrown:
        return release.stop(*regrown)
    unused = services.unused_canary_services(release, index)
    if unused is not None:
        return unused
    if release.seen.routes and release.target(index).traffic is Traffic.DIVIDED:
        text = messages.in_step(release, index, messages.ROUTING)
        release = release.progressing(reasons.IN_ROLLING, text)
        release = routing.endpoints_seen(release)
        waiting = _services_ready(release)
        if waiting is not None:
            return waiting
        release, drift = routing.noted_drift(release, index)
        if drift.held is not None:
            away, problem = restoring.lead_away_from_a_left_change(release, drift)
            return release.stop(*away, wake_at=drift.wake_at, problem=problem)
        actions = routing.ensure_routes(release, index)
        if actions:
            return release.noting(withdrawn_at=None).stop(*actions, notes=notes_of_drift(drift))
        untaken = confirming.not_yet_taken(release, index)
        if untaken is not None:
            return untaken
    shut = shared_route_is_closed(release)
    if shut is not None:
        return shut
    moved = mechanism_of(release).old_share(release, index)
    if moved is not None:
        return moved
    notes = (routing.routed_note(release, index),) if release.step(index).routes_traffic else ()
    return release.entering(StepState.STEP_METRICS_ANALYSIS).go_on(*notes)


def _services_ready(release: Release) -> Stop | None:
    """The canary Services have had the new pods among their endpoints for the grace period."""
    missing = services.canary_services(release)
    if missing:
        return release.stop(*missing)
    return routing.endpoints_grace_period(release) or announcing.named_before_share(release)


def _analyse(release: Release) -> Transition:
    """On to the pause, when the step's metrics and checks have passed, and no approval of the step before can be
    repeated there.
    """
    checks = checking.looked(release, CheckPlace.ROUTED)
    if checks.failed:
        return checking.not_passed(checks) or _held_by_check(checks)
    release = checks.release
    gate = analysing.analyse(release)
    if isinstance(gate, Continue):
        return structs.replace(gate, notes=(*checks.notes, *gate.notes))
    if gate is not None:
        kept = _with_all_kept(release, gate)
        asked = (*gate.actions, *checks.actions)
        return kept.also(*asked, wake_at=checks.wake_at, notes=checks.notes)
    if checks.waiting:
        return _with_all_kept_beside(release, checks)
    if pause.pause_is_too_soon(release):
        soon = release.stop(wake_at=release.ours.pause_not_before, notes=checks.notes)
        return _with_all_kept(release, soon)
    passed = release.noting(pause_not_before=None)
    return passed.entering(StepState.STEP_PAUSED).go_on(*checks.notes)


def _held_by_check(checks: checking.Looked) -> Continue:
    """The step waits for a person."""
    return checks.release.entering(StepState.STEP_PAUSED).go_on(*checks.notes)


def _with_all_kept_beside(release: Release, checks: checking.Looked) -> Stop:
    """The step waits for checks; its pods, Services and routes are kept and repaired."""
    kept = _with_all_kept(release, checking.waits(checks))
    return kept.also(*checks.actions)


def _paused(release: Release) -> Transition:
    """The end of a step; its pods, Services and routes are kept and repaired."""
    transition = pause.decide_pause(release)
    return transition if isinstance(transition, Continue) else _with_all_kept(release, transition)


def _with_all_kept(release: Release, transition: Stop) -> Stop:
    """`transition` with repairs of the step's autoscalers, pods, Services and routes in addition."""
    transition = _with_autoscalers_held(release, structs.replace(transition, actions=()))
    transition = _with_shared_routing(release, transition)
    index = moonshift_status(transition.status).step
    kept = _kept(release.at(transition.status), index)
    notes = services.remade_notes(release, kept)
    transition = transition.also(
        *kept, wake_at=release.ready(release.new_pods).next_at, notes=notes
    )
    if not release.seen.routes or release.target(index).traffic is not Traffic.DIVIDED:
        return transition
    return _with_routes(release, transition, index)


def _with_shared_routing(release: Release, stop: Stop) -> Stop:
    """`stop`; the Rollout joins again if its TrafficRouting was made again, or is another one now. A problem of the
    TrafficRouting stalls its members, as a problem of a Rollout's own routes does.
    """
    joining = join(release.at(stop.status))
    if joining is None:
        return stop.also(problem=hindrance(release))
    return stop.also(first=joining.actions, problem=joining.problem)


def _with_autoscalers_held(release: Release, stop: Stop) -> Stop:
    """`stop`; while the pods are doubled, no autoscaler sizes the workload."""
    held = autoscalers.hold(release.at(stop.status)) if release.style is Style.BLUE_GREEN else None
    if held is None:
        return stop
    more = stop.also(first=held.actions, wake_at=held.wake_at, problem=held.problem)
    return more.at(held.status)


def _with_routes(release: Release, transition: Stop, index: int) -> Stop:
    """`transition` with repairs of the routes in addition; without them if another writer changed the routes again."""
    release = release.at(transition.status)
    release, drift = routing.noted_drift(release, index)
    transition = transition.at(release.status)
    if drift.held is not None:
        away, problem = restoring.lead_away_from_a_left_change(release, drift)
        return structs.replace(transition.also(*away, wake_at=drift.wake_at), problem=problem)
    repairs = routing.ensure_routes(release, index)
    return transition.also(*repairs, notes=notes_of_drift(drift))


def _kept(release: Release, index: int) -> tuple[Action, ...]:
    """Repairs while a step waits: pins, the extra Deployment's size, labels, canary Services."""
    actions: tuple[Action, ...] = services.pin(release, index)
    actions += mechanism_of(release).keep(release, index)
    actions += batches.missing_labels(release, pods_to_label(release))
    if release.target(index).traffic is Traffic.DIVIDED:
        actions += services.canary_services(release)
    return actions


def _next_step(release: Release) -> Transition:
    """On to the next step, or to the end."""
    index = release.ours.step
    if index >= len(release.steps):
        return _last_checks(release)
    return go_to(release, index + 1).go_on()


def _last_checks(release: Release) -> Transition:
    """To the end of the release, when the checks at it have passed."""
    checks = checking.looked(release, CheckPlace.END)
    if checks.failed:
        return checking.not_passed(checks) or _held_by_check(checks)
    if checks.waiting:
        return _with_all_kept_beside(checks.release, checks)
    return checks.release.entering(StepState.COMPLETED).go_on(*checks.notes)
