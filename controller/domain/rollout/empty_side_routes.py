"""Moves traffic away from a side without ready endpoints, after the grace period, while the other side has some.

Why: a pinned Service, or a route with two destinations, continues to send requests to pods that no longer exist,
whatever removed them: a deleted ReplicaSet, a broken image, a lost node, a person. Nothing else notices this while a
release waits for a person. So every pass checks it here, in every state.
The whole share goes to the side with ready pods: the stable Service is un-pinned, or the routes send everything to one
side. The share returns once its own side has been ready for a grace period. Meanwhile the Rollout is Stalled.
Invariant: instants are kept in the status, and a missing instant counts as now. A side that is empty for less than a
grace period moves nothing.
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
from controller.domain.rollout import restoring, routing, services
from controller.domain.rollout.empty_sides import (
    ROUTES,
    SERVICE,
    Side,
    SideRevision,
    has_ready_pods,
    reaches_a_ready_pod,
    ready_pods_if_unpinned,
    sides,
)
from controller.domain.rollout.finalising import Goal
from controller.domain.rollout.release_context import ReleaseContext, Style, moonshift_status
from controller.domain.rollout.shared_routing import shared_side_is_empty
from controller.domain.rollout.status import with_moonshift_status
from controller.domain.rollout.transition import Stop

PINNED_ON = (Goal.ROLLBACK, Goal.CONTINUOUS)
"""Ends of a release during which the stable Service stays pinned until the workload is released."""

# --- the record ---------------------------------------------------------------------------------


def noted(context: ReleaseContext, status: RolloutStatus) -> RolloutStatus:
    """Record since when each side is empty while the other is not, and since when it is ready again.

    While a workload has no replicas, every side becomes empty: the record does not change.
    """
    if context.seen.workload is not None and not context.replicas:
        return status
    ours = moonshift_status(status)
    known = ours.empty_sides
    found: dict[str, EmptySide] = {}
    if ours.release and context.seen.workload is not None:
        for side in sides(context):
            entry = _entry_after_this_pass(context, status, side, known.get(side.key))
            if entry is not None:
                found[side.key] = entry
    return status if found == known else with_moonshift_status(status, empty_sides=found)


def _entry_after_this_pass(
    context: ReleaseContext, status: RolloutStatus, side: Side, known: EmptySide | None
) -> EmptySide | None:
    """The record of a side; None if the side has no problem.

    A record begins only for a side that has a share, while the other side has ready pods. It then stays until the side
    is ready again, or until its share does not return.
    """
    alive = has_ready_pods(context, status, side)
    if known is None:
        wrong = (
            not alive
            and _has_share(context, status, side)
            and _other_side_has_ready_pods(context, side)
        )
        return _due(context, status, side, EmptySide()) if wrong else None
    if alive:
        return _returning(context, known)
    if _is_over(context, status, side, known):
        return None
    return _due(context, status, side, structs.replace(known, ready_again=None))


def _returning(context: ReleaseContext, known: EmptySide) -> EmptySide | None:
    """The record ends when the side has been ready for the grace period; at once where no share was moved."""
    since = known.ready_again or context.now
    if not known.led_away or since + context.grace <= context.now:
        return None
    return structs.replace(known, ready_again=since)


def _due(context: ReleaseContext, status: RolloutStatus, side: Side, entry: EmptySide) -> EmptySide:
    """The share moves as soon as the grace period is over, if the other side has ready pods."""
    since = entry.since or context.now
    entry = structs.replace(entry, since=since)
    patience = timedelta() if _no_pod_is_wanted(context, status, side) else context.grace
    if entry.led_away or since + patience > context.now:
        return entry
    return structs.replace(entry, led_away=_way_to_move_share(context, side))


def _no_pod_is_wanted(context: ReleaseContext, status: RolloutStatus, side: Side) -> bool:
    """The side has no ready pod because no pod of it is wanted."""
    if _by_plan(context, status, side):
        return True
    is_deployment = context.workload.kind is WorkloadKind.DEPLOYMENT
    return side.revision is SideRevision.STABLE and is_deployment and not context.old_revision_runs


def _by_plan(context: ReleaseContext, status: RolloutStatus, side: Side) -> bool:
    """The release itself removes the last pod of this side."""
    ours = moonshift_status(status)
    if side.revision is SideRevision.NEW or context.style is not Style.PARTITION:
        return False
    return ours.goal == Goal.SUCCESS or context.leaves_none(max(1, ours.step))


def _is_over(context: ReleaseContext, status: RolloutStatus, side: Side, known: EmptySide) -> bool:
    """The share that was moved does not return: nothing is pinned, or routed, any more."""
    ours = moonshift_status(status)
    # The new side: the release ends, or its step leaves the new side without a route of its own.
    if side.revision is SideRevision.NEW:
        step = context.step(ours.step)
        ends = bool(ours.goal) or not step.routes_traffic or context.takes_all(ours.step)
        return ends and not context.routes_lead
    if known.led_away == ROUTES:
        return not context.routes_lead
    # The share moved by un-pinning. While routes still lead to a Service without any ready pod, the record is needed.
    stranded = context.routes_lead and not reaches_a_ready_pod(context, side.service)
    if stranded or _is_pinned(context, side.service):
        return False
    return (
        _by_plan(context, status, side)
        or services.pin_is_over(context, max(1, ours.step))
        or (bool(ours.goal) and ours.goal not in PINNED_ON)
    )


def _has_share(context: ReleaseContext, status: RolloutStatus, side: Side) -> bool:
    """This side receives requests: from the routes, or because its Service is pinned."""
    if side.revision is SideRevision.STABLE and not context.shared:
        if _is_pinned(context, side.service):
            return True
        if reaches_a_ready_pod(context, side.service):
            return False
    if not context.routes_lead:
        return False
    share = routing.present_share(context, status)
    if share is None:
        # A step with matches, or a plan that is not known: some requests may go to either side.
        return True
    return share > 0 if side.revision is SideRevision.NEW else share < 100


def _other_side_has_ready_pods(context: ReleaseContext, side: Side) -> bool:
    """The other side has ready pods."""
    canary = context.canary_service_of(side.service)
    if side.revision is SideRevision.NEW:
        return reaches_a_ready_pod(context, side.service)
    if not context.shared and ready_pods_if_unpinned(context, side.service):
        # The Service is un-pinned already; its slices will soon show it.
        return _is_pinned(context, side.service)
    return context.routes_lead and reaches_a_ready_pod(context, canary)


def _is_pinned(context: ReleaseContext, service: str) -> bool:
    found = context.service(service)
    return found is not None and names.PINNED in found.metadata.labels


def _way_to_move_share(context: ReleaseContext, side: Side) -> str:
    """The way in which the side's share can be moved now; empty if no pod would receive the share."""
    un_pinned = (
        side.revision is SideRevision.STABLE
        and not context.shared
        and reaches_a_ready_pod(context, side.service)
    )
    if un_pinned:
        return SERVICE
    if not _other_side_has_ready_pods(context, side):
        return ""
    by_service = (
        side.revision is SideRevision.STABLE
        and not context.shared
        and ready_pods_if_unpinned(context, side.service)
    )
    return SERVICE if by_service else ROUTES


# --- the actions --------------------------------------------------------------------------------


def with_shares_led_away(context: ReleaseContext, stop: Stop) -> Stop:
    """The outcome of a pass, with the actions that send every share to a side with ready pods."""
    status = stop.status
    entries = moonshift_status(status).empty_sides
    before = moonshift_status(context.seen.rollout.status).empty_sides
    stop = structs.replace(stop, problem=_joined(shared_side_is_empty(context), stop.problem))
    if not entries and not before:
        return stop
    away = tuple(side for side in sides(context) if _is_led_away(entries, side))
    back = tuple(
        side
        for side in sides(context)
        if _is_led_away(before, side) and not _is_led_away(entries, side)
    )
    first = (*_lead_away(context, status, away), *_lead_back(context, status, back))
    problem = _problem(context, status, away)
    return structs.replace(
        stop,
        urgent=first,
        actions=_without_contradictions(stop.actions, first),
        wake_at=_earliest(context, entries, stop.wake_at),
        problem=_joined(problem, stop.problem),
    )


def _is_led_away(entries: dict[str, EmptySide], side: Side) -> bool:
    return side.key in entries and bool(entries[side.key].led_away)


def _lead_away(
    context: ReleaseContext, status: RolloutStatus, away: tuple[Side, ...]
) -> tuple[Action, ...]:
    """The actions for every side whose share has to move."""
    entries = moonshift_status(status).empty_sides
    actions: tuple[Action, ...] = ()
    for side in away:
        if entries[side.key].led_away == SERVICE:
            actions += _un_pinned(context, side.service)
    by_routes = [side for side in away if entries[side.key].led_away == ROUTES]
    if not by_routes or not context.routes_lead:
        return actions
    if any(side.revision is SideRevision.NEW for side in by_routes):
        if routing.present_share(context, status) == 0:
            return actions
        return (*actions, *restoring.restore_depth_zero(context, status))
    return (*actions, *routing.everything_to_new(context, status))


def _un_pinned(context: ReleaseContext, service: str) -> tuple[Action, ...]:
    return tuple(action for action in services.unpin(context) if action.service.name == service)


def _lead_back(
    context: ReleaseContext, status: RolloutStatus, back: tuple[Side, ...]
) -> tuple[Action, ...]:
    """Pins that were removed are restored while the release wants them; routes follow their step again."""
    ours = moonshift_status(status)
    # A release ends with its workload: routes and Services are restored, and no share is moved.
    if context.seen.workload is None or not any(
        side.revision is SideRevision.STABLE for side in back
    ):
        return ()
    if ours.goal in PINNED_ON and context.owners is not None:
        # Only if stable pods are ready again: a record that ended for another reason leaves the Service un-pinned,
        # or every second pass would pin it to a revision without pods.
        answer = any(
            has_ready_pods(context, status, side)
            for side in back
            if side.revision is SideRevision.STABLE
        )
        return services.pinned(context, status) if answer else ()
    if ours.goal or not ours.release:
        return ()
    return (
        *services.pin(context, status, ours.step),
        *routing.route_step_again(context, status, ours.step),
    )


def _without_contradictions(
    actions: tuple[Action, ...], first: tuple[Action, ...]
) -> tuple[Action, ...]:
    """The remaining actions: no duplicates, and no route or pin that contradicts."""
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
    context: ReleaseContext, entries: dict[str, EmptySide], other: datetime | None
) -> datetime | None:
    times = [other] if other is not None else []
    for entry in entries.values():
        since = entry.ready_again if entry.led_away else entry.since
        if since is not None and since + context.grace > context.now:
            times.append(since + context.grace)
    return min(times, default=None)


def new_side_is_led_away(context: ReleaseContext, status: RolloutStatus) -> bool:
    """Routes give the new revision a share, and its pods have not been ready for the grace period."""
    entries = moonshift_status(status).empty_sides
    led = any(
        _is_led_away(entries, side) for side in sides(context) if side.revision is SideRevision.NEW
    )
    return led and context.routes_lead and routing.present_share(context, status) != 0


# --- the message --------------------------------------------------------------------------------


def _problem(
    context: ReleaseContext, status: RolloutStatus, away: tuple[Side, ...]
) -> Refusal | None:
    entries = moonshift_status(status).empty_sides
    for side in away:
        if _by_plan(context, status, side):
            continue
        since = entries[side.key].since
        at = f" since {since:%H:%M:%S} UTC" if since is not None else ""
        who, other = (
            ("stable", "new") if side.revision is SideRevision.STABLE else ("new", "stable")
        )
        text = (
            f"no pod of the {who} revision is ready behind Service {context.namespace}/{side.service}{at}: all "
            f"requests go to the {other} revision until one has been ready for {context.grace.total_seconds():g} s"
        )
        return Refusal(reasons.SIDE_WITHOUT_ENDPOINTS, text, object=f"Service {side.service}")
    return None


def _joined(problem: Refusal | None, other: Refusal | None) -> Refusal | None:
    """Two problems in one message. The problem with requests comes first, unless the other problem is its cause."""
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
