"""The status of a TrafficRouting, and the notes about its changes.

`status.members` has the time since which a Rollout's routes are open or closed; the Rollout waits for it before it
removes pods. Invariant: without news the status stays equal, timestamps included.
"""

from datetime import datetime

from msgspec import structs

from controller.api.trafficrouting import (
    Member,
    TrafficRoutingStatus,
)
from controller.domain import reasons
from controller.domain.conditions import set_condition
from controller.domain.decision import (
    Note,
    Refusal,
    Severity,
)
from controller.domain.traffic.drift.policy import DRIFTED, Drift
from controller.domain.traffic.drift.reaction import drift_of, with_drift
from controller.domain.traffic.restoring.teardown_order import lowest_depth_in_use
from controller.domain.trafficrouting.confirming import Confirmation
from controller.domain.trafficrouting.seen import (
    ROUTES_TAKEN,
    TrafficRoutingSeen,
    joined,
    name_in_status,
    started_at,
)
from controller.domain.trafficrouting.shared_routes import is_routed, leads_to_new


def _phase(seen: TrafficRoutingSeen) -> str:
    if seen.routing.metadata.deleting:
        return "Terminating"
    if joined(seen.routing):
        return "Progressing"
    return "Healthy" if lowest_depth_in_use(seen.routes) is None else "Finalizing"


def next_status(
    seen: TrafficRoutingSeen,
    open_routes: tuple[str, ...],
    problem: Refusal | None,
    *,
    settled: bool,
    admits: bool,
    now: datetime,
    confirmed: Confirmation,
) -> TrafficRoutingStatus:
    """The status after this pass. Members stay as they were until the routes are moved (`settled`); new ones are added
    without a route before that (`admits`).
    """
    phase = _phase(seen)
    message = problem.message if problem is not None else f"TrafficRouting is {phase}"
    status = structs.replace(
        seen.routing.status,
        observed_generation=seen.routing.metadata.generation,
        phase=phase,
        message=message,
        members=seen.routing.status.members,
    )
    if settled:
        members = _members(seen, open_routes, now, taken=confirmed.taken)
        status = _with_wait(structs.replace(status, members=members), confirmed.waits, now)
    elif admits:
        status = structs.replace(status, members=_with_newcomers(seen, now))
    return with_condition(status, problem, now)


def _with_wait(status: TrafficRoutingStatus, waits: str, now: datetime) -> TrafficRoutingStatus:
    """The status with the gateway that the members wait for, if they wait for one."""
    if waits:
        conditions = set_condition(
            status.conditions, ROUTES_TAKEN, "False", reasons.WAITS_FOR_GATEWAY, waits, now
        )
    else:
        conditions = tuple(each for each in status.conditions if each.type != ROUTES_TAKEN)
    return structs.replace(status, conditions=conditions)


def _members(
    seen: TrafficRoutingSeen, open_routes: tuple[str, ...], now: datetime, *, taken: bool
) -> tuple[Member, ...]:
    """Members, and the time since which their routes are open; a member that left stays while its release lasts.

    Routes that no gateway has taken yet are open for nobody who was not routed before.
    """
    before = {member.rollout: member for member in seen.routing.status.members}
    members: list[Member] = []
    present = {member.rollout.metadata.name: member for member in seen.members}
    for name in sorted({*present, *before} & {*present, *seen.living}):
        old = before.get(name)
        routed = name in present and (
            (is_routed(seen, present[name], open_routes) and (taken or _was_routed(old)))
            or (old is not None and old.routed and _is_waited_for(seen, open_routes))
        )
        since = old.since if old is not None and old.routed == routed else now
        begun = old.release_started_at if old is not None else None
        if name in present:
            begun = started_at(present[name].rollout)
        members.append(Member(name, routed, since, begun))
    return tuple(members)


def _was_routed(member: Member | None) -> bool:
    return member is not None and member.routed


def _with_newcomers(seen: TrafficRoutingSeen, now: datetime) -> tuple[Member, ...]:
    """The members so far, and those that joined meanwhile."""
    found = {member.rollout: member for member in seen.routing.status.members}
    for member in seen.members:
        name, begun = member.rollout.metadata.name, started_at(member.rollout)
        old = found.get(name, Member(rollout=name, routed=False, since=now))
        found[name] = structs.replace(old, release_started_at=begun)
    return tuple(found[name] for name in sorted(found))


def _is_waited_for(seen: TrafficRoutingSeen, open_routes: tuple[str, ...]) -> bool:
    """A shared route is open although its new pods are not ready: the grace period is not over."""
    return any(not leads_to_new(seen, route) for route in open_routes)


def drift_of_open(seen: TrafficRoutingSeen, open_routes: tuple[str, ...], now: datetime) -> Drift:
    """The drift of the objects behind open shared routes."""
    if not open_routes:
        return Drift()
    meta, status = seen.routing.metadata, seen.routing.status
    written = set(status.written) & _named(seen, open_routes)
    routes = tuple(route for route in seen.routes if name_in_status(route.reference) in written)
    return drift_of(seen.routes, routes, meta.namespace, status.conditions, now)


def drift_noted(
    status: TrafficRoutingStatus,
    seen: TrafficRoutingSeen,
    open_routes: tuple[str, ...],
    drift: Drift | None,
    *,
    settled: bool,
    now: datetime,
) -> TrafficRoutingStatus:
    """The status with the reaction (None: another problem comes first); it names every object of an open route once all
    of them follow their plans.
    """
    named = _named(seen, open_routes)
    written = named if settled else named & set(status.written)
    status = structs.replace(status, written=tuple(sorted(written)))
    if not open_routes:
        kept = tuple(each for each in status.conditions if each.type != DRIFTED)
        return structs.replace(status, conditions=kept)
    if drift is None:
        return status
    return structs.replace(status, conditions=with_drift(status.conditions, drift, now))


def _named(seen: TrafficRoutingSeen, open_routes: tuple[str, ...]) -> set[str]:
    return {
        name_in_status(route.reference)
        for route in seen.routes
        if route.reference.stable_service in open_routes
    }


def with_condition(
    status: TrafficRoutingStatus, problem: Refusal | None, now: datetime
) -> TrafficRoutingStatus:
    """The status with the condition Stalled: True with the problem, or False."""
    value, reason, text = (
        ("False", "", "") if problem is None else ("True", problem.reason, problem.message)
    )
    conditions = set_condition(status.conditions, "Stalled", value, reason, text, now)
    return structs.replace(status, conditions=conditions)


def notes_of(
    before: TrafficRoutingStatus, after: TrafficRoutingStatus, problem: Refusal | None
) -> tuple[Note, ...]:
    """The note about a problem that is new; without a problem, about a new phase."""
    if problem is not None:
        known = any(c.status == "True" and c.message == problem.message for c in before.conditions)
        return () if known else (Note(problem.reason, problem.message, Severity.WARNING),)
    if before.phase == after.phase:
        return ()
    return (Note(reasons.TRAFFIC_ROUTING_PHASE, after.message),)
