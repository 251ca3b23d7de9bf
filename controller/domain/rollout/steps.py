"""The step machine: grow, ready, route, margin, give the old share back, metrics, pause, next.

Invariant: one function per state; a state that needs nothing is walked through. Pods come before traffic in every step,
so traffic never points at pods that are not ready; the one thing done before pods is pinning the stable Service.
"""

from typing import assert_never

from msgspec import structs

from controller.api.rollout import RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import Action, Note
from controller.domain.rollout import announcing, batches, messages, pause, restoring, routing
from controller.domain.rollout.drifting import drift_of, noted
from controller.domain.rollout.jump import go_to
from controller.domain.rollout.moving.choice import mechanism_of
from controller.domain.rollout.returning import pods_to_label
from controller.domain.rollout.shared_routing import lane_is_shut
from controller.domain.rollout.situation import Situation, position
from controller.domain.rollout.status import enter, progressing, with_canary, with_position
from controller.domain.rollout.turn import Advance, Stop, Turn


def decide_step(sit: Situation, status: RolloutStatus) -> Turn:
    """The next turn of a release that nothing disturbs."""
    state = StepState(position(status).state)
    match state:
        case StepState.BEFORE_STEP_UPGRADE:
            return _before_upgrade(sit, status)
        case StepState.STEP_UPGRADE:
            return _upgrade(sit, status)
        case StepState.STEP_TRAFFIC_ROUTING:
            return _route(sit, status)
        case StepState.STEP_METRICS_ANALYSIS:
            return _analyse(sit, status)
        case StepState.STEP_PAUSED:
            return _paused(sit, status)
        case StepState.STEP_READY:
            return _next_step(sit, status)
        case StepState.COMPLETED:
            return Stop(status)
        case _:
            assert_never(state)


def _upgrading(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    text = messages.in_step(sit, position(status).step, messages.UPGRADING)
    return progressing(status, reasons.IN_ROLLING, text, sit.now)


def _before_upgrade(sit: Situation, status: RolloutStatus) -> Turn:
    """A step that says nothing about traffic starts from the original routes.

    Not one that takes all pods: its routes stay until every pod is a new one, or the new revision's share would fall.
    """
    index = position(status).step
    status = _upgrading(sit, status)
    if not sit.step(index).routes_traffic and not sit.takes_all(index):
        restored = _following_pods(sit, status, index) or restoring.restore(sit, status)
        if restored is not None:
            return restored
    mixed = routing.revisions_are_mixed(sit, status)
    if mixed is not None:
        return Stop(status, problem=mixed)
    return Advance(enter(status, StepState.STEP_UPGRADE, sit.now))


def _following_pods(sit: Situation, status: RolloutStatus, index: int) -> Stop | None:
    """The stable Services lead to every revision before the routes give them everything: old pods may be few by now."""
    if not sit.routes_lead or not routing.pin_is_over(sit, index):
        return None
    actions = routing.unpin(sit)
    waits = bool(actions) or routing.stable_services_are_blind(sit)
    return Stop(status, actions) if waits else None


def _upgrade(sit: Situation, status: RolloutStatus) -> Turn:
    """Pods of the step: made, ready, labelled; without traffic the old share is given back at once."""
    index = position(status).step
    status = _upgrading(sit, status)
    pins = routing.pin(sit, status, index)
    blocked = mechanism_of(sit).clear(sit, status)
    if blocked is not None:
        return structs.replace(blocked, actions=(*pins, *blocked.actions))
    if sit.takes_all(index) and (pins or routing.stable_services_are_blind(sit)):
        # No old pod goes before the un-pinned Services are seen to lead to the new ones as well.
        return Stop(status, pins)
    counted = sit.ready(sit.new_pods)
    status = with_canary(status, pod_template_hash=sit.new_revision)
    status, announcements = announcing.announce(sit, status, index)
    actions = (*pins, *_pods_of_step(sit, status, index), *announcements)
    if actions:
        actions = (*routing.rehearsal(sit, status, index), *actions)
        return Stop(status, actions, wake_at=counted.next_at)
    if not batches.batch_is_ready(sit, index, counted):
        return Stop(status, wake_at=counted.next_at)
    done = Note(reasons.STEP_UPGRADED, f"upgrade step({index}) canary pods with new versions done")
    return Advance(enter(status, StepState.STEP_TRAFFIC_ROUTING, sit.now), (done,))


def _pods_of_step(sit: Situation, status: RolloutStatus, index: int) -> tuple[Action, ...]:
    """What makes and marks the pods of a step; the canary Service comes as soon as their revision is known."""
    moves = mechanism_of(sit).grow(
        sit, index, sit.ready(sit.new_pods), give_back=not sit.step(index).routes_traffic
    )
    services: tuple[Action, ...] = ()
    if sit.step(index).routes_traffic and not sit.takes_all(index):
        services = routing.canary_services(sit)
    return (*moves, *services, *batches.missing_labels(sit, status, pods_to_label(sit, status)))


def _route(sit: Situation, status: RolloutStatus) -> Turn:
    """Routes of the step, and after their margin the old share of the pods."""
    index = position(status).step
    regrown = mechanism_of(sit).regrow(sit, index)
    if regrown:
        return Stop(status, regrown)
    if sit.step(index).routes_traffic and sit.seen.routes and not sit.takes_all(index):
        text = messages.in_step(sit, index, messages.ROUTING)
        status = progressing(status, reasons.IN_ROLLING, text, sit.now)
        status = routing.endpoints_seen(sit, status)
        waiting = _services_ready(sit, status)
        if waiting is not None:
            return waiting
        drift = drift_of(sit)
        status, notes = noted(status, drift, sit.now)
        if drift.held is not None:
            return Stop(status, wake_at=drift.wake_at, problem=drift.held)
        actions = routing.ensure_routes(sit, status, index)
        if actions:
            return Stop(with_position(status, withdrawn_at=None), actions, notes=notes)
    shut = lane_is_shut(sit, status)
    if shut is not None:
        return shut
    moved = mechanism_of(sit).old_share(sit, status, index)
    if moved is not None:
        return moved
    notes = (routing.routed_note(sit, index),) if sit.step(index).routes_traffic else ()
    return Advance(enter(status, StepState.STEP_METRICS_ANALYSIS, sit.now), notes)


def _services_ready(sit: Situation, status: RolloutStatus) -> Stop | None:
    """The canary Services lead to the new pods, and have done so for the grace period."""
    services = routing.canary_services(sit)
    if services:
        return Stop(status, services)
    return routing.endpoints_margin(sit, status)


def _analyse(sit: Situation, status: RolloutStatus) -> Turn:
    """The work of the step is done; on to its pause, once an approval of the step before cannot be repeated there."""
    if pause.pause_is_too_soon(sit, status):
        return _with_all_kept(sit, Stop(status, wake_at=position(status).pause_not_before))
    passed = with_position(status, pause_not_before=None)
    return Advance(enter(passed, StepState.STEP_PAUSED, sit.now))


def _paused(sit: Situation, status: RolloutStatus) -> Turn:
    """The end of a step; what the step brought about is kept so meanwhile."""
    turn = pause.decide_pause(sit, status)
    return turn if isinstance(turn, Advance) else _with_all_kept(sit, turn)


def _with_all_kept(sit: Situation, turn: Stop) -> Stop:
    """The same, and pods, Services and routes stay as the step left them."""
    index = position(turn.status).step
    due = [time for time in (turn.wake_at, sit.ready(sit.new_pods).next_at) if time is not None]
    kept = _kept(sit, turn.status, index)
    turn = structs.replace(turn, actions=kept, wake_at=min(due, default=None))
    if not (sit.step(index).routes_traffic and sit.seen.routes) or sit.takes_all(index):
        return turn
    return _with_routes(sit, turn, index)


def _with_routes(sit: Situation, turn: Stop, index: int) -> Stop:
    """The same, and the routes are kept as they were written; or left, where somebody insists on another opinion."""
    drift = drift_of(sit)
    status, notes = noted(turn.status, drift, sit.now)
    if drift.held is not None:
        times = [time for time in (turn.wake_at, drift.wake_at) if time is not None]
        return structs.replace(
            turn, status=status, wake_at=min(times, default=None), problem=drift.held
        )
    actions = (*turn.actions, *routing.ensure_routes(sit, status, index))
    return structs.replace(turn, status=status, actions=actions, notes=(*turn.notes, *notes))


def _kept(sit: Situation, status: RolloutStatus, index: int) -> tuple[Action, ...]:
    """Repairs while a step waits: pins, the extra Deployment's size, labels, canary Services."""
    actions: tuple[Action, ...] = routing.pin(sit, status, index)
    actions += mechanism_of(sit).keep(sit, index)
    actions += batches.missing_labels(sit, status, pods_to_label(sit, status))
    if sit.step(index).routes_traffic and not sit.takes_all(index):
        actions += routing.canary_services(sit)
    return actions


def _next_step(sit: Situation, status: RolloutStatus) -> Turn:
    """On to the next step, or to the end."""
    index = position(status).step
    if index >= len(sit.steps):
        return Advance(enter(status, StepState.COMPLETED, sit.now))
    return Advance(go_to(sit, status, index + 1))
