"""Moves traffic away from a side without ready endpoints, after the grace period, while the other side has some.

Why: a pinned Service, or a route with two destinations, continues to send requests to pods that no longer exist,
whatever removed them: a deleted ReplicaSet, a broken image, a lost node, a person. Nothing else notices this while a
release waits for a person. So every pass checks it here, in every state.
The whole share goes to the side with ready pods: the stable Service is un-pinned, or the routes send everything to one
side. The share returns once its own side has been ready for a grace period. Meanwhile the Rollout is Stalled.
`empty_side_record` decides when a share moves and returns; here are the actions and the message.
"""

from msgspec import structs

from controller.domain import reasons
from controller.domain.decision import Action, EnsureRoutes, PinService, Refusal, UnpinService
from controller.domain.rollout.routes import restoring, routing, services
from controller.domain.rollout.routes.empty_side_record import PINNED_ON, is_removed_by_the_release
from controller.domain.rollout.routes.empty_sides import (
    has_ready_pods,
    own_selector,
    ready_pods_of,
    selector_in_words,
    selects_any,
    sides,
)
from controller.domain.rollout.routes.shared_routing import shared_side_is_empty
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop
from controller.domain.sides import ROUTES, SERVICE, Side, SideRevision, is_led_away, next_look


def with_shares_led_away(release: Release, stop: Stop) -> Stop:
    """The outcome of a pass, with the actions that send every share to a side with ready pods."""
    status = stop.status
    entries = moonshift_status(status).empty_sides
    # As stored: only shares that a former pass led away can be led back.
    before = moonshift_status(release.stored).empty_sides
    stop = structs.replace(stop, problem=_joined(shared_side_is_empty(release), stop.problem))
    if not entries and not before:
        return stop
    away = tuple(side for side in sides(release) if is_led_away(entries, side))
    back = tuple(
        side
        for side in sides(release)
        if is_led_away(before, side) and not is_led_away(entries, side)
    )
    first = (*_lead_away(release.at(status), away), *_lead_back(release.at(status), back))
    problem = _problem(release.at(status), away)
    return structs.replace(
        stop,
        urgent=first,
        actions=_without_contradictions(stop.actions, first),
        problem=_joined(problem, stop.problem),
    ).also(wake_at=next_look(entries, release.grace, release.now))


def _lead_away(release: Release, away: tuple[Side, ...]) -> tuple[Action, ...]:
    """The actions for every side whose share has to move."""
    entries = release.ours.empty_sides
    actions: tuple[Action, ...] = ()
    for side in away:
        if entries[side.key].led_away == SERVICE:
            actions += _un_pinned(release, side.service)
    by_routes = [side for side in away if entries[side.key].led_away == ROUTES]
    if not by_routes or not release.routes_lead:
        return actions
    if any(side.revision is SideRevision.NEW for side in by_routes):
        if routing.present_share(release) == 0:
            return actions
        return (*actions, *restoring.restore_depth_zero(release))
    return (*actions, *routing.everything_to_new(release))


def _un_pinned(release: Release, service: str) -> tuple[Action, ...]:
    return tuple(action for action in services.unpin(release) if action.service.name == service)


def _lead_back(release: Release, back: tuple[Side, ...]) -> tuple[Action, ...]:
    """Pins that were removed are restored while the release wants them; routes follow their step again."""
    ours = release.ours
    # A release ends with its workload: routes and Services are restored, and no share is moved.
    if release.seen.workload is None or not any(
        side.revision is SideRevision.STABLE for side in back
    ):
        return ()
    if ours.goal in PINNED_ON and release.owners is not None:
        # Only if stable pods are ready again: a record that ended for another reason leaves the Service un-pinned,
        # or every second pass would pin it to a revision without pods.
        answer = any(
            has_ready_pods(release, side) for side in back if side.revision is SideRevision.STABLE
        )
        return services.pinned(release) if answer else ()
    if ours.goal or not ours.release:
        return ()
    return (
        *services.pin(release, ours.step),
        *routing.route_step_again(release, ours.step),
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


def new_side_is_led_away(release: Release) -> bool:
    """Routes give the new revision a share, and its pods have not been ready for the grace period."""
    entries = release.ours.empty_sides
    led = any(
        is_led_away(entries, side) for side in sides(release) if side.revision is SideRevision.NEW
    )
    return led and release.routes_lead and routing.present_share(release) != 0


# --- the message --------------------------------------------------------------------------------


def _problem(release: Release, away: tuple[Side, ...]) -> Refusal | None:
    entries = release.ours.empty_sides
    for side in away:
        if is_removed_by_the_release(release, side):
            continue
        since = entries[side.key].since
        at = f" since {since:%H:%M:%S} UTC" if since is not None else ""
        who, other = side.revision, side.revision.other
        empty = f"no pod of the {who} revision is ready behind Service {release.namespace}/{side.service}{at}"
        text = (
            f"{_selecting_no_ready_pod(release, side) or empty}: all requests go to the {other} revision until "
            f"one has been ready for {release.grace.total_seconds():g} s"
        )
        return Refusal(reasons.SIDE_WITHOUT_ENDPOINTS, text, object=f"Service {side.service}")
    return None


def _selecting_no_ready_pod(release: Release, side: Side) -> str:
    """Pods of this side are ready, and its Service does not select them; empty if that is not so."""
    pods = ready_pods_of(release, side)
    behind = side.service
    if side.revision is SideRevision.NEW:
        behind = release.canary_service_of(side.service)
    selector = own_selector(release, behind)
    if not pods or not selector or selects_any(selector, pods):
        return ""
    named = f"Service {release.namespace}/{behind}"
    return (
        f"{named}: its selector {selector_in_words(selector)} matches none of the {len(pods)} ready pods of the "
        f"{side.revision} revision, correct it"
    )


def _joined(problem: Refusal | None, other: Refusal | None) -> Refusal | None:
    """Two problems in one message. The problem with requests comes first, unless the other problem is its cause."""
    if problem is None or other is None:
        return problem or other
    if other.reason == reasons.SERVICE_SELECTS_NO_POD and problem.message.startswith(other.object):
        return other
    causes = (
        reasons.SERVICE_NOT_FOUND,
        reasons.SERVICE_WITHOUT_SELECTOR,
        reasons.STABLE_REVISION_GONE,
        reasons.SERVICE_SELECTS_NO_POD,
    )
    if other.reason in causes:
        problem, other = other, problem
    return structs.replace(problem, message=f"{problem.message}; besides: {other.message}")
