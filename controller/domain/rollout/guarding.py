"""No share stays for longer than the grace period on a side without ready endpoints while the other side has some.

Why: a Service that is pinned to a revision, or a route with two destinations, goes on sending requests to pods that are
gone, whatever took them: a deleted ReplicaSet, a broken image, a lost node, a hand. Nothing else in a release looks at
it while it waits for a person. So every pass, in every state, asks it here, whatever else holds the release up.
The whole share goes to the side that lives: the stable Service is un-pinned, or the routes lead everything to one side.
It comes back once its side has been ready again for the grace period. Meanwhile the Rollout is Stalled.
Invariant: instants are kept in status, and a missing one counts as now. A side that is empty for a moment only moves
nothing.
"""

from datetime import datetime, timedelta

from msgspec import structs

from controller.api import names
from controller.api.rollout import EmptySide, RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import (
    Action,
    EnsureRoutes,
    PinService,
    Refusal,
    UnpinService,
)
from controller.domain.rollout import restoring, routing
from controller.domain.rollout.empty_sides import (
    ROUTES,
    SERVICE,
    Half,
    Side,
    answers,
    reaches_somebody,
    sides,
    would_lead_to,
)
from controller.domain.rollout.finalising import Goal
from controller.domain.rollout.shared_routing import shared_side_is_empty
from controller.domain.rollout.situation import Situation, Style, position
from controller.domain.rollout.status import with_position
from controller.domain.rollout.turn import Stop

PINNED_ON = (Goal.ROLLBACK, Goal.CONTINUOUS)
"""Ends during which the stable Service stays pinned until the workload is free."""

# --- what is noted ------------------------------------------------------------------------------


def noted(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    """Keep since when each side is empty while the other is not, and since when it is no more.

    Of a workload without replicas every side is about to be empty: what was noted stays, and nothing is added.
    """
    if sit.seen.workload is not None and not sit.replicas:
        return status
    ours = position(status)
    known = ours.empty_sides
    found: dict[str, EmptySide] = {}
    if ours.release and sit.seen.workload is not None:
        for side in sides(sit):
            entry = _looked_at(sit, status, side, known.get(side.key))
            if entry is not None:
                found[side.key] = entry
    return status if found == known else with_position(status, empty_sides=found)


def _looked_at(
    sit: Situation, status: RolloutStatus, side: Side, known: EmptySide | None
) -> EmptySide | None:
    """How a side stands; None where nothing is wrong with it."""
    alive = answers(sit, status, side)
    if known is None:
        wrong = not alive and _has_share(sit, status, side) and _other_lives(sit, side)
        return _due(sit, status, side, EmptySide()) if wrong else None
    if alive:
        return _returning(sit, known)
    if _is_over(sit, status, side, known):
        return None
    return _due(sit, status, side, structs.replace(known, ready_again=None))


def _returning(sit: Situation, known: EmptySide) -> EmptySide | None:
    """Back for good once it has been ready for the grace period; at once where nothing was moved."""
    since = known.ready_again or sit.now
    if not known.led_away or since + sit.grace <= sit.now:
        return None
    return structs.replace(known, ready_again=since)


def _due(sit: Situation, status: RolloutStatus, side: Side, entry: EmptySide) -> EmptySide:
    """Its share goes away as soon as the grace period is over, if there is anybody to take it."""
    since = entry.since or sit.now
    entry = structs.replace(entry, since=since)
    patience = timedelta() if _for_good(sit, status, side) else sit.grace
    if entry.led_away or since + patience > sit.now:
        return entry
    return structs.replace(entry, led_away=_means(sit, status, side))


def _for_good(sit: Situation, status: RolloutStatus, side: Side) -> bool:
    """More than a moment without ready pods: nobody wants any pod of it."""
    if _by_plan(sit, status, side):
        return True
    is_deployment = sit.workload.kind is WorkloadKind.DEPLOYMENT
    return side.half is Half.STABLE and is_deployment and not sit.old_revision_runs


def _by_plan(sit: Situation, status: RolloutStatus, side: Side) -> bool:
    """The release itself takes the last pod of this side."""
    ours = position(status)
    if side.half is Half.NEW or sit.style is not Style.PARTITION:
        return False
    return ours.goal == Goal.SUCCESS or sit.leaves_none(max(1, ours.step))


def _is_over(sit: Situation, status: RolloutStatus, side: Side, known: EmptySide) -> bool:
    """What was led away is not to come back: nothing is pinned, or routed, any more."""
    ours = position(status)
    if side.half is Half.NEW:
        step = sit.step(ours.step)
        ends = bool(ours.goal) or not step.routes_traffic or sit.takes_all(ours.step)
        return ends and not sit.routes_lead
    if known.led_away == ROUTES:
        return not sit.routes_lead
    unheard = sit.routes_lead and not reaches_somebody(sit, side.service)
    if unheard or _is_pinned(sit, side.service):
        return False
    return (
        _by_plan(sit, status, side)
        or routing.pin_is_over(sit, max(1, ours.step))
        or (bool(ours.goal) and ours.goal not in PINNED_ON)
    )


def _has_share(sit: Situation, status: RolloutStatus, side: Side) -> bool:
    """Requests are sent to this side: by the routes, or because its Service is pinned."""
    if side.half is Half.STABLE and not sit.shared:
        if _is_pinned(sit, side.service):
            return True
        if reaches_somebody(sit, side.service):
            return False
    if not sit.routes_lead:
        return False
    share = routing.share_led(sit, status)
    if share is None:
        return True
    return share > 0 if side.half is Half.NEW else share < 100


def _other_lives(sit: Situation, side: Side) -> bool:
    """Somebody is there to take its share."""
    canary = sit.canary_service_of(side.service)
    if side.half is Half.NEW:
        return reaches_somebody(sit, side.service)
    if not sit.shared and would_lead_to(sit, side.service):
        # Un-pinned already, its slices are about to say so.
        return _is_pinned(sit, side.service)
    return sit.routes_lead and reaches_somebody(sit, canary)


def _is_pinned(sit: Situation, service: str) -> bool:
    found = sit.service(service)
    return found is not None and names.PINNED in found.metadata.labels


def _means(sit: Situation, status: RolloutStatus, side: Side) -> str:
    """How its share can be given away now; empty where nobody would take it."""
    un_pinned = side.half is Half.STABLE and not sit.shared and reaches_somebody(sit, side.service)
    if un_pinned:
        return SERVICE
    if not _other_lives(sit, side):
        return ""
    by_service = side.half is Half.STABLE and not sit.shared and would_lead_to(sit, side.service)
    return SERVICE if by_service else ROUTES


# --- what is done -------------------------------------------------------------------------------


def guarded(sit: Situation, stop: Stop) -> Stop:
    """The outcome of a pass, with what keeps every share on a side that answers."""
    status = stop.status
    entries = position(status).empty_sides
    before = position(sit.seen.rollout.status).empty_sides
    stop = structs.replace(stop, problem=_both(shared_side_is_empty(sit), stop.problem))
    if not entries and not before:
        return stop
    away = tuple(side for side in sides(sit) if _led(entries, side))
    back = tuple(side for side in sides(sit) if _led(before, side) and not _led(entries, side))
    first = (*_lead_away(sit, status, away), *_lead_back(sit, status, back))
    problem = _problem(sit, status, away)
    return structs.replace(
        stop,
        actions=(*first, *_without(stop.actions, first)),
        wake_at=_earliest(sit, entries, stop.wake_at),
        problem=_both(problem, stop.problem),
    )


def _led(entries: dict[str, EmptySide], side: Side) -> bool:
    return side.key in entries and bool(entries[side.key].led_away)


def _lead_away(sit: Situation, status: RolloutStatus, away: tuple[Side, ...]) -> tuple[Action, ...]:
    """The means of every side whose share is to be elsewhere."""
    entries = position(status).empty_sides
    actions: tuple[Action, ...] = ()
    for side in away:
        if entries[side.key].led_away == SERVICE:
            actions += _un_pinned(sit, side.service)
    by_routes = [side for side in away if entries[side.key].led_away == ROUTES]
    if not by_routes or not sit.routes_lead:
        return actions
    if any(side.half is Half.NEW for side in by_routes):
        if routing.share_led(sit, status) == 0:
            return actions
        return (*actions, *restoring.give_back_what_leads(sit, status))
    return (*actions, *routing.everything_to_new(sit, status))


def _un_pinned(sit: Situation, service: str) -> tuple[Action, ...]:
    return tuple(action for action in routing.unpin(sit) if action.service.name == service)


def _lead_back(sit: Situation, status: RolloutStatus, back: tuple[Side, ...]) -> tuple[Action, ...]:
    """Pins that were taken off are put on again, as long as the release wants them; routes follow their step."""
    ours = position(status)
    if not any(side.half is Half.STABLE for side in back):
        return ()
    if ours.goal in PINNED_ON and sit.owners is not None:
        return routing.pinned(sit, status)
    if ours.goal or not ours.release:
        return ()
    return (*routing.pin(sit, status, ours.step), *routing.followed_again(sit, status, ours.step))


def _without(actions: tuple[Action, ...], first: tuple[Action, ...]) -> tuple[Action, ...]:
    """What is left to do: nothing twice, no route or pin that contradicts."""
    services = {a.service for a in first if isinstance(a, UnpinService | PinService)}
    routes = any(not isinstance(a, UnpinService | PinService) for a in first)
    return tuple(
        action
        for action in actions
        if action not in first
        and not (routes and isinstance(action, EnsureRoutes))
        and not (isinstance(action, UnpinService | PinService) and action.service in services)
    )


def _earliest(
    sit: Situation, entries: dict[str, EmptySide], other: datetime | None
) -> datetime | None:
    times = [other] if other is not None else []
    for entry in entries.values():
        since = entry.ready_again if entry.led_away else entry.since
        if since is not None and since + sit.grace > sit.now:
            times.append(since + sit.grace)
    return min(times, default=None)


def new_side_is_led_away(sit: Situation, status: RolloutStatus) -> bool:
    """Routes give the new revision a share, and its pods have not been ready for the grace period."""
    entries = position(status).empty_sides
    led = any(_led(entries, side) for side in sides(sit) if side.half is Half.NEW)
    return led and sit.routes_lead and routing.share_led(sit, status) != 0


# --- what is said -------------------------------------------------------------------------------


def _problem(sit: Situation, status: RolloutStatus, away: tuple[Side, ...]) -> Refusal | None:
    entries = position(status).empty_sides
    for side in away:
        if _by_plan(sit, status, side):
            continue
        since = entries[side.key].since
        at = f" since {since:%H:%M:%S} UTC" if since is not None else ""
        who, other = ("stable", "new") if side.half is Half.STABLE else ("new", "stable")
        text = (
            f"no pod of the {who} revision is ready behind Service {sit.namespace}/{side.service}{at}: all requests "
            f"go to the {other} revision until one has been ready for {sit.grace.total_seconds():g} s"
        )
        return Refusal(reasons.SIDE_WITHOUT_ENDPOINTS, text, object=f"Service {side.service}")
    return None


def _both(problem: Refusal | None, other: Refusal | None) -> Refusal | None:
    """Requests come first, unless the other problem is why nobody answers; what else is wrong is said with it."""
    if problem is None or other is None:
        return problem or other
    causes = (
        reasons.SERVICE_NOT_FOUND,
        reasons.SERVICE_WITHOUT_SELECTOR,
        reasons.STABLE_REVISION_GONE,
    )
    if other.reason in causes:
        problem, other = other, problem
    return structs.replace(problem, message=f"{problem.message}; besides: {other.message}")
