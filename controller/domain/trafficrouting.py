"""What happens next to a TrafficRouting: routes that several Rollouts share while any of them progresses.

A Rollout joins by a finalizer of its own on the TrafficRouting and leaves by removing it. A shared route (the gateway
objects of one Service) is open while new pods of a member are ready behind that Service (the original opens all, B38).
`status.members` says since when a Rollout's routes are open or closed; it waits for that before it takes pods away.
Invariants: pure; no route leads to a Service without new pods; a TrafficRouting goes after its gateway objects are
restored (the original: before, B36); objects that a closed route pointed at are restored a grace period after it.
"""

from datetime import datetime, timedelta
from typing import assert_never

from msgspec import structs

from controller.api.networking import EndpointSlice
from controller.api.rollout import MoonshiftStatus, PatchMetadata, Phase, Rollout
from controller.api.trafficrouting import (
    PROGRESSING_FINALIZER_PREFIX,
    TRAFFIC_ROUTING_FINALIZER,
    Member,
    Teardown,
    TrafficRouting,
    TrafficRoutingStatus,
)
from controller.api.workloads import Pod
from controller.domain import reasons, shared_route_sides
from controller.domain.availability import NotServed
from controller.domain.conditions import set_condition, settled_conditions
from controller.domain.decision import (
    Action,
    EnsureRoutes,
    Note,
    Reference,
    Refusal,
    RestoreRoutes,
    RoutePlan,
    SetFinalizers,
    Severity,
    Value,
)
from controller.domain.observation import RouteAbsent, RoutePresent, RouteSeen, RouteUnreadable
from controller.domain.shared_route_sides import (
    NEW,
    STABLE,
    SharedRoute,
    Sides,
    is_away,
    is_waited_for,
)
from controller.domain.traffic.abilities import name_of_script, unsayable
from controller.domain.traffic.drift_policy import Drift, drift_among
from controller.domain.traffic.plan import all_to_new, references_of, route_plan
from controller.domain.traffic.teardown_order import lowest_depth_in_use, next_to_restore

OWNER_PREFIX = "trafficrouting/"
"""Stands before the name of a TrafficRouting in the records of gateway objects; no Rollout can have such a name."""


class MemberSeen(Value, frozen=True):
    """A Rollout that has joined, and the pods of its release."""

    rollout: Rollout
    new_pods: tuple[Pod, ...] = ()


class TrafficRoutingSeen(Value, frozen=True):
    """A TrafficRouting and everything that a decision about it needs."""

    routing: TrafficRouting
    members: tuple[MemberSeen, ...] = ()
    routes: tuple[RouteSeen, ...] = ()
    slices: tuple[EndpointSlice, ...] = ()
    strays: tuple[str, ...] = ()
    """Rollouts that joined and no longer exist, or now name another TrafficRouting: they cannot leave."""
    living: frozenset[str] = frozenset()
    """Names of the Rollouts that name this TrafficRouting and are in a release, members or not."""


class TrafficRoutingDecision(Value, frozen=True):
    """The outcome of one pass."""

    status: TrafficRoutingStatus
    actions: tuple[Action, ...] = ()
    notes: tuple[Note, ...] = ()
    problem: Refusal | None = None
    wake_at: datetime | None = None


def owner_of(routing: TrafficRouting) -> str:
    """The name of this TrafficRouting in the records of gateway objects."""
    return OWNER_PREFIX + routing.metadata.name


def joined(routing: TrafficRouting) -> tuple[str, ...]:
    """Names of the Rollouts that have joined."""
    return tuple(
        name.removeprefix(PROGRESSING_FINALIZER_PREFIX)
        for name in routing.metadata.finalizers
        if name.startswith(PROGRESSING_FINALIZER_PREFIX)
    )


def decide_traffic_routing(seen: TrafficRoutingSeen, now: datetime) -> TrafficRoutingDecision:
    """The decision of one pass, from all that is known at `now`."""
    routing = seen.routing
    sides = _sides(seen, now)
    open_routes = () if routing.metadata.deleting else _open_routes(seen, sides)
    drift = drift_among(seen.routes, routing.metadata.namespace, now) if open_routes else Drift()
    problem = _problem(seen, open_routes) or drift.held
    move = _Move(descent=routing.status.descent)
    if problem is None:
        move = _move(seen, open_routes, sides, now, now if drift.put_back else None)
    told = problem
    if told is None and not _stable_goes_by_plan(seen):
        told = shared_route_sides.empty_side_refusal(
            sides, f"TrafficRouting {routing.metadata.key}"
        )
    settled = problem is None and not (move.actions or move.unfinished)
    actions = (*_finalizer_actions(seen, restored=settled), *move.actions)
    status = _status(seen, open_routes, told, settled=settled, now=now)
    status = structs.replace(status, descent=move.descent, empty_sides=sides)
    notes = _notes(routing.status, status, told)
    if drift.put_back and problem is None:
        text = f"{drift.put_back}; it is put back"
        notes += (Note(reasons.ROUTE_PUT_BACK, text, Severity.WARNING),)
    look = shared_route_sides.next_look(sides, grace_of(routing), now)
    times = [time for time in (drift.wake_at, move.wake_at, look) if time is not None]
    return TrafficRoutingDecision(status, actions, notes, problem, min(times, default=None))


def _finalizer_actions(seen: TrafficRoutingSeen, *, restored: bool) -> tuple[Action, ...]:
    """Our finalizer stays until the routes are restored; finalizers of Rollouts that cannot leave are removed."""
    meta = seen.routing.metadata
    strays = {PROGRESSING_FINALIZER_PREFIX + name for name in seen.strays}
    wanted = tuple(name for name in meta.finalizers if name not in strays)
    if not meta.deleting and TRAFFIC_ROUTING_FINALIZER not in wanted:
        wanted += (TRAFFIC_ROUTING_FINALIZER,)
    if meta.deleting and restored:
        wanted = tuple(name for name in wanted if name != TRAFFIC_ROUTING_FINALIZER)
    if wanted == meta.finalizers:
        return ()
    return (SetFinalizers(meta.key, meta.resource_version, wanted),)


def refused_routing(
    seen: TrafficRoutingSeen, decision: TrafficRoutingDecision, refusal: Refusal, now: datetime
) -> TrafficRoutingDecision:
    """The decision after the effect refused one of its actions."""
    status = _with_condition(decision.status, refusal, now)
    conditions = settled_conditions(seen.routing.status.conditions, status.conditions)
    status = structs.replace(status, message=refusal.message, conditions=conditions)
    notes = _notes(seen.routing.status, status, refusal)
    return TrafficRoutingDecision(status, decision.actions, notes, refusal)


# --- shared routes ------------------------------------------------------------------------------------


def _services(seen: TrafficRoutingSeen) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.service for entry in seen.routing.spec.object_ref))


def _behind(seen: TrafficRoutingSeen, service: str) -> frozenset[str]:
    """UIDs of the pods that a Service leads to."""
    parts = (part.ready_pod_uids for part in seen.slices if part.service == service)
    return frozenset[str]().union(*parts)


def _named_behind(seen: TrafficRoutingSeen, service: str) -> frozenset[str]:
    """UIDs of all pods that a Service selects, ready or not."""
    return frozenset(
        endpoint.target_ref.uid
        for part in seen.slices
        if part.service == service
        for endpoint in part.endpoints or ()
        if endpoint.target_ref is not None
    )


def _leads_to_new(seen: TrafficRoutingSeen, service: str) -> bool:
    ready = _behind(seen, service)
    return any(_ready_behind(member, ready) for member in seen.members)


def _open_routes(seen: TrafficRoutingSeen, sides: Sides) -> tuple[str, ...]:
    """Services behind which a member has ready new pods, or had some less than a grace period ago."""
    return tuple(
        service
        for service in _services(seen)
        if not is_away(sides, NEW, service)
        and (_leads_to_new(seen, service) or is_waited_for(sides, NEW, service))
    )


def _sides(seen: TrafficRoutingSeen, now: datetime) -> Sides:
    """The sides without ready pods while the other side has some; none without routed members."""
    present = {member.rollout.metadata.name for member in seen.members}
    led_members = any(m.routed and m.rollout in present for m in seen.routing.status.members)
    known = seen.routing.status.empty_sides
    if seen.routing.metadata.deleting or not (led_members or (known and present)):
        return {}
    new = {pod.metadata.uid for member in seen.members for pod in member.new_pods}
    weight = seen.routing.spec.strategy.weight
    routes = tuple(
        SharedRoute(
            service=service,
            led=_is_led(seen, service) and (weight is None or weight < 100),
            new=_leads_to_new(seen, service),
            stable=bool(_behind(seen, service) - new),
            joined=bool(_named_behind(seen, service) & new),
        )
        for service in _services(seen)
    )
    return shared_route_sides.noted(known, routes, grace_of(seen.routing), now)


def _stable_goes_by_plan(seen: TrafficRoutingSeen) -> bool:
    """The release of a member replaces all pods."""
    for member in seen.members:
        ours, plan = member.rollout.status.moonshift, member.rollout.spec.strategy.plan
        if not isinstance(ours, MoonshiftStatus) or plan is None:
            continue
        takes_all = any(step.replicas == "100%" for step in plan.steps[ours.step - 1 : ours.step])
        if ours.goal == "Success" or takes_all:
            return True
    return False


def _is_led(seen: TrafficRoutingSeen, service: str) -> bool:
    """Routes divide the requests of this Service."""
    states = (r.state for r in seen.routes if r.reference.stable_service == service)
    return any(isinstance(state, RoutePresent) and state.in_use for state in states)


def _ready_behind(member: MemberSeen, ready: frozenset[str]) -> bool:
    return any(pod.metadata.uid in ready and pod.ready_since is not None for pod in member.new_pods)


def _plans(
    seen: TrafficRoutingSeen, open_routes: tuple[str, ...], sides: Sides
) -> tuple[RoutePlan, ...]:
    """The plans of the gateway objects: all requests go to the new revision where the stable one has no ready pod."""
    whole = tuple(route for route in open_routes if is_away(sides, STABLE, route))
    divided = tuple(route for route in open_routes if route not in whole)
    plans = (_plan(seen, divided),)
    return (*plans, all_to_new(_plan(seen, whole))) if whole else plans


def _plan(seen: TrafficRoutingSeen, open_routes: tuple[str, ...]) -> RoutePlan:
    """The plan of the gateway objects of these Services."""
    spec = seen.routing.spec
    entries = tuple(entry for entry in spec.object_ref if entry.service in open_routes)
    return route_plan(
        namespace=seen.routing.metadata.namespace,
        rollout=owner_of(seen.routing),
        release=owner_of(seen.routing),
        references=references_of(entries, disable_generate=True),
        step=spec.strategy.as_step,
        pod_metadata=_metadata(seen) or PatchMetadata(),
        rollout_uid=seen.routing.metadata.uid,
    )


def _metadata(seen: TrafficRoutingSeen) -> PatchMetadata | None:
    """Labels and annotations that all members give their new pods; None where they differ."""
    given = [_metadata_of(member.rollout) for member in seen.members]
    if not given:
        return PatchMetadata()
    return given[0] if all(each == given[0] for each in given) else None


def _metadata_of(rollout: Rollout) -> PatchMetadata:
    canary = rollout.spec.strategy.plan
    patch = canary.patch_pod_template_metadata if canary is not None else None
    return patch or PatchMetadata()


class _Move(Value, frozen=True):
    """The actions on routes in a pass, and the state of a restore that has to wait."""

    actions: tuple[Action, ...] = ()
    descent: Teardown | None = None
    unfinished: bool = False
    """More remains to do: after the grace period, or once the status is written."""
    wake_at: datetime | None = None


def _move(
    seen: TrafficRoutingSeen,
    open_routes: tuple[str, ...],
    sides: Sides,
    now: datetime,
    at: datetime | None,
) -> _Move:
    """Gateway objects of open shared routes follow their plan; the other objects are restored in teardown order."""
    plans = _plans(seen, open_routes, sides)
    plan = plans[0]
    wanted = {_place_of(ref): each for each in plans for ref in each.references}
    closed = tuple(route for route in seen.routes if _place(route) not in wanted)
    depth, known = lowest_depth_in_use(closed), seen.routing.status.descent
    unsaid = {
        found.identity
        for route in seen.routes
        if (found := wanted.get(_place(route))) is not None and not _says(route, found)
    }
    wrong = tuple(EnsureRoutes(each, at) for each in plans if each.identity in unsaid)
    if wrong or depth == 0:
        if known is not None:
            # The record of an earlier teardown would shorten the wait after this one if the process stopped in between.
            return _Move(unfinished=True)
        restoring = (_restored(plan, closed, 0),) if depth == 0 else ()
        return _Move((*restoring, *wrong))
    if depth is None:
        return _Move()
    since = known.since if known is not None and known.depth == depth else None
    descent = Teardown(depth, since or now)
    due = (since or now) + grace_of(seen.routing)
    if due > now:
        return _Move(descent=descent, unfinished=True, wake_at=due)
    return _Move((_restored(plan, closed, depth),), descent)


def _place(route: RouteSeen) -> tuple[str, str, str]:
    return _place_of(route.reference)


def _place_of(reference: Reference) -> tuple[str, str, str]:
    return reference.group, reference.kind, reference.name


def _restored(plan: RoutePlan, closed: tuple[RouteSeen, ...], depth: int) -> RestoreRoutes:
    references = next_to_restore(closed, depth)
    return RestoreRoutes(
        plan.namespace, references, plan.release, plan.rollout, rollout_uid=plan.rollout_uid
    )


def grace_of(routing: TrafficRouting) -> timedelta:
    """The time that proxies get to learn that a route has moved: the longest of all shared routes."""
    longest = max((entry.grace_period_seconds for entry in routing.spec.object_ref), default=0)
    return timedelta(seconds=longest)


def _says(route: RouteSeen, plan: RoutePlan) -> bool:
    """The object follows this plan, and nobody else wrote it."""
    state = route.state
    return (
        isinstance(state, RoutePresent)
        and state.plan == plan.identity
        and not (state.touched or state.edited)
    )


# --- problems -----------------------------------------------------------------------------------------


def _problem(seen: TrafficRoutingSeen, open_routes: tuple[str, ...]) -> Refusal | None:
    strategy = seen.routing.spec.strategy
    named = f"TrafficRouting {seen.routing.metadata.key}"
    if not seen.routing.metadata.deleting:
        if strategy.weight is None and not strategy.matches:
            text = f"{named}: spec.strategy says neither weight nor matches: say one"
            return Refusal(reasons.INVALID_TRAFFIC_ROUTING, text, object=named)
        if _metadata(seen) is None:
            given = ", ".join(sorted(member.rollout.metadata.name for member in seen.members))
            text = (
                f"{named}: the Rollouts {given} give their new pods different labels "
                "(patchPodTemplateMetadata), and one route cannot lead to both: make them the same"
            )
            return Refusal(reasons.INVALID_TRAFFIC_ROUTING, text, object=named)
        # Once routes are in use, restoring them and telling the members is more important.
        begins = bool(open_routes) or not seen.routing.status.members
        if begins and lowest_depth_in_use(seen.routes) is None and (asked := _unsayable(seen)):
            return asked
    for route in seen.routes:
        problem = _route_problem(seen, route, needed=bool(open_routes))
        if problem is not None:
            return problem
    return None


def _unsayable(seen: TrafficRoutingSeen) -> Refusal | None:
    """A gateway object whose script lacks an ability that the strategy needs: reported before a shared route opens."""
    step = seen.routing.spec.strategy.as_step
    for route in seen.routes:
        if missing := unsayable(step, route.reference, route.can):
            return Refusal(
                reasons.STEP_UNSAYABLE,
                f"spec.strategy cannot be carried out: {name_of_script(route.reference)} cannot "
                f"{' or '.join(missing)}; change spec.strategy, or lead the traffic otherwise",
                object=f"{route.reference.kind} {seen.routing.metadata.namespace}/{route.reference.name}",
            )
    return None


def _route_problem(seen: TrafficRoutingSeen, route: RouteSeen, *, needed: bool) -> Refusal | None:
    """A gateway object that cannot be read; a missing object matters only while a shared route is open."""
    name = f"{route.reference.kind} {seen.routing.metadata.namespace}/{route.reference.name}"
    match route.state:
        case RouteAbsent():
            if not needed:
                return None
            text = f"{name} does not exist: create it, or correct spec.objectRef"
            return Refusal(reasons.GATEWAY_OBJECT_NOT_FOUND, text, object=name)
        case RouteUnreadable(why=NotServed()) if not needed:
            return None
        case RouteUnreadable(reason=reason, message=message):
            return Refusal(reason, message, object=name)
        case RoutePresent():
            return None
        case _:
            assert_never(route.state)


# --- status -------------------------------------------------------------------------------------------


def _phase(seen: TrafficRoutingSeen) -> str:
    if seen.routing.metadata.deleting:
        return "Terminating"
    if joined(seen.routing):
        return "Progressing"
    return "Healthy" if lowest_depth_in_use(seen.routes) is None else "Finalizing"


def _status(
    seen: TrafficRoutingSeen,
    open_routes: tuple[str, ...],
    problem: Refusal | None,
    *,
    settled: bool,
    now: datetime,
) -> TrafficRoutingStatus:
    phase = _phase(seen)
    message = problem.message if problem is not None else f"TrafficRouting is {phase}"
    status = structs.replace(
        seen.routing.status,
        observed_generation=seen.routing.metadata.generation,
        phase=phase,
        message=message,
        members=_members(seen, open_routes, now) if settled else seen.routing.status.members,
    )
    return _with_condition(status, problem, now)


def _members(
    seen: TrafficRoutingSeen, open_routes: tuple[str, ...], now: datetime
) -> tuple[Member, ...]:
    """Members, and since when their routes are open; one that left stays while its release lasts."""
    before = {member.rollout: member for member in seen.routing.status.members}
    members: list[Member] = []
    present = {member.rollout.metadata.name: member for member in seen.members}
    for name in sorted({*present, *before} & {*present, *seen.living}):
        old = before.get(name)
        routed = name in present and (
            _is_routed(seen, present[name], open_routes)
            or (old is not None and old.routed and _is_waited_for(seen, open_routes))
        )
        since = old.since if old is not None and old.routed == routed else now
        members.append(Member(rollout=name, routed=routed, since=since))
    return tuple(members)


def _is_waited_for(seen: TrafficRoutingSeen, open_routes: tuple[str, ...]) -> bool:
    """A shared route is open although its new pods are not ready: the grace period is not over."""
    return any(not _leads_to_new(seen, route) for route in open_routes)


def _is_routed(seen: TrafficRoutingSeen, member: MemberSeen, open_routes: tuple[str, ...]) -> bool:
    """An open shared route leads to pods of this member."""
    ready = frozenset().union(
        *(part.ready_pod_uids for part in seen.slices if part.service in open_routes)
    )
    return _ready_behind(member, ready)


def _with_condition(
    status: TrafficRoutingStatus, problem: Refusal | None, now: datetime
) -> TrafficRoutingStatus:
    value, reason, text = (
        ("False", "", "") if problem is None else ("True", problem.reason, problem.message)
    )
    conditions = set_condition(status.conditions, "Stalled", value, reason, text, now)
    return structs.replace(status, conditions=conditions)


def _notes(
    before: TrafficRoutingStatus, after: TrafficRoutingStatus, problem: Refusal | None
) -> tuple[Note, ...]:
    if problem is not None:
        said = any(c.status == "True" and c.message == problem.message for c in before.conditions)
        return () if said else (Note(problem.reason, problem.message, Severity.WARNING),)
    if before.phase == after.phase:
        return ()
    return (Note(reasons.TRAFFIC_ROUTING_PHASE, after.message),)


def is_under_way(rollout: Rollout) -> bool:
    """A Rollout that may still wait for its shared routes to close."""
    return rollout.status.phase in (Phase.PROGRESSING, Phase.DISABLING, Phase.TERMINATING)
