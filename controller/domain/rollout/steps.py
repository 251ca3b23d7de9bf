"""The step machine: create pods, wait until ready, route, grace period, remove the old share, metrics, pause, next
step.

Invariant: one function per state; a state that needs nothing is passed through. In every step pods come before traffic,
so traffic never reaches pods that are not ready; only pinning the stable Service comes before the pods.
"""

from typing import assert_never

from msgspec import structs

from controller.api.rollout import RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import Action, Note
from controller.domain.rollout import (
    analysing,
    announcing,
    autoscalers,
    batches,
    last_endpoints,
    messages,
    other_workloads,
    pause,
    restoring,
    routing,
    services,
)
from controller.domain.rollout.drifting import drift_of, noted
from controller.domain.rollout.jump import go_to
from controller.domain.rollout.moving import nodes_from_zero
from controller.domain.rollout.moving.choice import mechanism_of
from controller.domain.rollout.moving.from_zero import largest_visited_batch, leaves_stable_pods
from controller.domain.rollout.rehearsing import rehearsal_of_objects
from controller.domain.rollout.release_context import ReleaseContext, Style, moonshift_status
from controller.domain.rollout.returning import pods_to_label
from controller.domain.rollout.shared_routing import hindrance, join, shared_route_is_closed
from controller.domain.rollout.status import enter, progressing, with_moonshift_status
from controller.domain.rollout.transition import Continue, Stop, Transition


def decide_step(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """The next transition of a release without a disturbance."""
    state = StepState(moonshift_status(status).state)
    match state:
        case StepState.BEFORE_STEP_UPGRADE:
            return _before_upgrade(context, status)
        case StepState.STEP_UPGRADE:
            return _upgrade(context, status)
        case StepState.STEP_TRAFFIC_ROUTING:
            return _route(context, status)
        case StepState.STEP_METRICS_ANALYSIS:
            return _analyse(context, status)
        case StepState.STEP_PAUSED:
            return _paused(context, status)
        case StepState.STEP_READY:
            return _next_step(context, status)
        case StepState.COMPLETED:
            return Stop(status)
        case _:
            assert_never(state)


def _upgrading(context: ReleaseContext, status: RolloutStatus) -> RolloutStatus:
    text = messages.in_step(context, moonshift_status(status).step, messages.UPGRADING)
    return progressing(status, reasons.IN_ROLLING, text, context.now)


def _before_upgrade(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """A step without traffic settings starts from the original routes.

    Except a step that replaces all pods: its routes stay until every pod is new, because the new revision's share would
    fall otherwise.
    """
    index = moonshift_status(status).step
    status = _upgrading(context, status)
    if not context.step(index).routes_traffic and not context.takes_all(index):
        restored = _following_pods(context, status, index) or restoring.restore(context, status)
        if restored is not None:
            return restored
    mixed = routing.revisions_are_mixed(context, status)
    if mixed is not None:
        return Stop(status, problem=mixed)
    return Continue(enter(status, StepState.STEP_UPGRADE, context.now))


def _following_pods(context: ReleaseContext, status: RolloutStatus, index: int) -> Stop | None:
    """The stable Services select every revision before the routes send them everything: few old pods may be left."""
    if not context.routes_lead or not services.pin_is_over(context, index):
        return None
    actions = services.unpin(context)
    waits = bool(actions) or services.stable_services_miss_new_pods(context)
    return Stop(status, actions) if waits else None


def _upgrade(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """The step's pods: created, ready, labelled; without traffic settings the old share is removed at once."""
    index = moonshift_status(status).step
    status = _upgrading(context, status)
    emptied = _would_empty_a_service(context, status, index)
    if emptied is not None:
        return emptied
    pins = services.pin(context, status, index)
    if _position_comes_first(context, status):
        return Stop(status, pins)
    blocked = mechanism_of(context).preconditions(context, status)
    if blocked is not None:
        warned = (*blocked.notes, *other_workloads.warnings(context, pins))
        first = (*rehearsal_of_objects(context, pins), *pins)
        return structs.replace(blocked, actions=(*first, *blocked.actions), notes=warned)
    if context.takes_all(index) and (pins or services.stable_services_miss_new_pods(context)):
        # No old pod is removed before the un-pinned Services have the new pods among their endpoints.
        return Stop(status, pins)
    counted = context.ready(context.new_pods)
    status, announcements = announcing.announce(context, status, index)
    actions = (*pins, *_pods_of_step(context, status, index), *announcements)
    if actions:
        warned = other_workloads.warnings(context, pins)
        rehearsed = rehearsal_of_objects(context, actions)
        actions = (*routing.rehearsal(context, status, index), *rehearsed, *actions)
        return Stop(status, actions, notes=warned, wake_at=counted.next_at)
    if not batches.batch_is_ready(context, index, counted):
        return Stop(status, wake_at=counted.next_at)
    done = Note(reasons.STEP_UPGRADED, f"upgrade step({index}) canary pods with new versions done")
    return Continue(enter(status, StepState.STEP_TRAFFIC_ROUTING, context.now), (done,))


def _would_empty_a_service(
    context: ReleaseContext, status: RolloutStatus, index: int
) -> Stop | None:
    """The step removes the last old pod, and a stable Service selects no new one."""
    if not (context.leaves_none(index) and context.old_revision_runs):
        return None
    problem = last_endpoints.selects_none_of_the_template(context, status)
    return Stop(status, problem=problem) if problem is not None else None


def _position_comes_first(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The step's pods would look like changes by people while the status still has the step before.

    So the step is stored first. A controller that was killed between the move and its status found no stable pod at a
    step that leaves some, concluded that the workload had been at zero replicas, and began the release again. For a
    DaemonSet it concluded that nodes had joined, and replaced the new pods.
    """
    stored = context.seen.rollout.status
    if nodes_from_zero.is_daemon_set(context):
        return largest_visited_batch(context, stored) < largest_visited_batch(context, status)
    return leaves_stable_pods(context, stored) and not leaves_stable_pods(context, status)


def _pods_of_step(context: ReleaseContext, status: RolloutStatus, index: int) -> tuple[Action, ...]:
    """The actions that create and label a step's pods; the canary Service follows as soon as their revision is
    known.
    """
    moves = mechanism_of(context).grow(
        context,
        index,
        context.ready(context.new_pods),
        give_back=not context.step(index).routes_traffic,
    )
    copies: tuple[Action, ...] = ()
    if context.step(index).routes_traffic and not context.takes_all(index):
        copies = services.canary_services(context)
    return (
        *moves,
        *copies,
        *batches.missing_labels(context, status, pods_to_label(context, status)),
    )


def _route(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """The step's routes, and the old share of the pods after their grace period."""
    index = moonshift_status(status).step
    regrown = mechanism_of(context).regrow(context, index)
    if regrown:
        return Stop(status, regrown)
    unused = services.unused_canary_services(context, status, index)
    if unused is not None:
        return unused
    if context.step(index).routes_traffic and context.seen.routes and not context.takes_all(index):
        text = messages.in_step(context, index, messages.ROUTING)
        status = progressing(status, reasons.IN_ROLLING, text, context.now)
        status = routing.endpoints_seen(context, status)
        waiting = _services_ready(context, status)
        if waiting is not None:
            return waiting
        drift = drift_of(context, status, index)
        status, notes = noted(status, drift, context.now)
        if drift.held is not None:
            return Stop(status, wake_at=drift.wake_at, problem=drift.held)
        actions = routing.ensure_routes(context, status, index)
        if actions:
            return Stop(with_moonshift_status(status, withdrawn_at=None), actions, notes=notes)
    shut = shared_route_is_closed(context, status)
    if shut is not None:
        return shut
    moved = mechanism_of(context).old_share(context, status, index)
    if moved is not None:
        return moved
    notes = (routing.routed_note(context, index),) if context.step(index).routes_traffic else ()
    return Continue(enter(status, StepState.STEP_METRICS_ANALYSIS, context.now), notes)


def _services_ready(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """The canary Services have had the new pods among their endpoints for the grace period."""
    missing = services.canary_services(context)
    if missing:
        return Stop(status, missing)
    return routing.endpoints_grace_period(context, status) or announcing.named_before_share(
        context, status
    )


def _analyse(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """On to the pause, when the step's metrics have passed and no approval of the step before can be repeated there."""
    gate = analysing.analyse(context, status)
    if isinstance(gate, Continue):
        return gate
    if gate is not None:
        kept = _with_all_kept(context, gate)
        return structs.replace(kept, actions=(*kept.actions, *gate.actions))
    if pause.pause_is_too_soon(context, status):
        return _with_all_kept(
            context, Stop(status, wake_at=moonshift_status(status).pause_not_before)
        )
    passed = with_moonshift_status(status, pause_not_before=None)
    return Continue(enter(passed, StepState.STEP_PAUSED, context.now))


def _paused(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """The end of a step; its pods, Services and routes are kept and repaired."""
    transition = pause.decide_pause(context, status)
    return transition if isinstance(transition, Continue) else _with_all_kept(context, transition)


def _with_all_kept(context: ReleaseContext, transition: Stop) -> Stop:
    """`transition` with repairs of the step's autoscalers, pods, Services and routes in addition."""
    transition = _with_autoscalers_held(context, structs.replace(transition, actions=()))
    transition = _with_shared_routing(context, transition)
    index = moonshift_status(transition.status).step
    due = [
        time
        for time in (transition.wake_at, context.ready(context.new_pods).next_at)
        if time is not None
    ]
    kept = _kept(context, transition.status, index)
    actions = (*transition.actions, *kept)
    transition = structs.replace(transition, actions=actions, wake_at=min(due, default=None))
    if not (context.step(index).routes_traffic and context.seen.routes) or context.takes_all(index):
        return transition
    return _with_routes(context, transition, index)


def _with_shared_routing(context: ReleaseContext, stop: Stop) -> Stop:
    """`stop`; the Rollout joins again if its TrafficRouting was made again, or is another one now. A problem of the
    TrafficRouting stalls its members, as a problem of a Rollout's own routes does.
    """
    joining = join(context, stop.status)
    if joining is None:
        return structs.replace(stop, problem=stop.problem or hindrance(context))
    return structs.replace(
        stop,
        actions=(*joining.actions, *stop.actions),
        problem=stop.problem or joining.problem,
    )


def _with_autoscalers_held(context: ReleaseContext, stop: Stop) -> Stop:
    """`stop`; while the pods are doubled, no autoscaler sizes the workload."""
    held = autoscalers.hold(context, stop.status) if context.style is Style.BLUE_GREEN else None
    if held is None:
        return stop
    times = [time for time in (stop.wake_at, held.wake_at) if time is not None]
    return structs.replace(
        stop,
        status=held.status,
        actions=(*held.actions, *stop.actions),
        wake_at=min(times, default=None),
        problem=stop.problem or held.problem,
    )


def _with_routes(context: ReleaseContext, transition: Stop, index: int) -> Stop:
    """`transition` with repairs of the routes in addition; without them if another writer changed the routes again."""
    drift = drift_of(context, transition.status, index)
    status, notes = noted(transition.status, drift, context.now)
    if drift.held is not None:
        times = [time for time in (transition.wake_at, drift.wake_at) if time is not None]
        return structs.replace(
            transition, status=status, wake_at=min(times, default=None), problem=drift.held
        )
    actions = (*transition.actions, *routing.ensure_routes(context, status, index))
    return structs.replace(
        transition, status=status, actions=actions, notes=(*transition.notes, *notes)
    )


def _kept(context: ReleaseContext, status: RolloutStatus, index: int) -> tuple[Action, ...]:
    """Repairs while a step waits: pins, the extra Deployment's size, labels, canary Services."""
    actions: tuple[Action, ...] = services.pin(context, status, index)
    actions += mechanism_of(context).keep(context, index)
    actions += batches.missing_labels(context, status, pods_to_label(context, status))
    if context.step(index).routes_traffic and not context.takes_all(index):
        actions += services.canary_services(context)
    return actions


def _next_step(context: ReleaseContext, status: RolloutStatus) -> Transition:
    """On to the next step, or to the end."""
    index = moonshift_status(status).step
    if index >= len(context.steps):
        return Continue(enter(status, StepState.COMPLETED, context.now))
    return Continue(go_to(context, status, index + 1))
