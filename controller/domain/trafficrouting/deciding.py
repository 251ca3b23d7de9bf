"""Decides about a TrafficRouting: routes that several Rollouts share while any of them progresses.

Invariants: pure; no route leads to a Service without new pods for longer than the grace period; a TrafficRouting is
deleted after its gateway objects are restored (the original: before, B36).
"""

from datetime import datetime

from msgspec import structs

from controller.api.duration import later
from controller.api.trafficrouting import (
    PROGRESSING_FINALIZER_PREFIX,
    TRAFFIC_ROUTING_FINALIZER,
    TrafficRoutingStatus,
)
from controller.domain.conditions import settled_conditions
from controller.domain.decision import (
    TRAFFIC_ROUTING,
    Action,
    Decided,
    Refusal,
    finalizers,
)
from controller.domain.sides import next_look
from controller.domain.traffic import named_content
from controller.domain.traffic.drift.policy import Drift
from controller.domain.traffic.drift.reaction import notes_of_drift, without_put_back
from controller.domain.trafficrouting.moving import Move, move_routes
from controller.domain.trafficrouting.problems import empty_side_refusal, problem_of
from controller.domain.trafficrouting.rehearsing import rehearsals
from controller.domain.trafficrouting.seen import TrafficRoutingSeen, grace_of
from controller.domain.trafficrouting.shared_routes import (
    empty_sides,
    open_shared_routes,
)
from controller.domain.trafficrouting.status import (
    drift_noted,
    drift_of_open,
    next_status,
    notes_of,
    with_condition,
)


class TrafficRoutingDecision(Decided[TrafficRoutingStatus], frozen=True):
    """The outcome of one pass over a TrafficRouting."""

    problem: Refusal | None = None


def decide_traffic_routing(seen: TrafficRoutingSeen, now: datetime) -> TrafficRoutingDecision:
    """The decision of one pass, from all that is known at `now`."""
    routing = seen.routing
    sides = empty_sides(seen, now)
    open_routes = () if routing.metadata.deleting else open_shared_routes(seen, sides)
    problem = problem_of(seen, open_routes)
    reaction = drift_of_open(seen, open_routes, now) if problem is None else None
    drift = reaction or Drift()
    problem = problem or drift.held
    named = named_content.noted(routing.status.named_content, seen.routes, now)
    move = Move(descent=routing.status.descent)
    if problem is None:
        move = move_routes(seen, open_routes, sides, now, now if drift.put_back else None, named)
    shown = problem
    if shown is None and not any(member.removes_the_stable_side for member in seen.members):
        shown = empty_side_refusal(sides, f"TrafficRouting {routing.metadata.key}")
    settled = problem is None and not (move.actions or move.unfinished)
    admits = problem is None and not (move.actions or routing.metadata.deleting)
    status = next_status(seen, open_routes, shown, settled=settled, admits=admits, now=now)
    status = drift_noted(status, seen, open_routes, reaction, settled=settled, now=now)
    status = structs.replace(status, descent=move.descent, empty_sides=sides, named_content=named)
    goes_at = _goes_at(seen, status, now) if settled else None
    goes = goes_at is not None and goes_at <= now
    rehearsed = rehearsals(seen, open_routes) if admits else ()
    actions = (*_finalizer_actions(seen, goes=goes), *move.actions, *rehearsed)
    notes = (*notes_of(routing.status, status, shown), *notes_of_drift(drift))
    look = next_look(sides, grace_of(routing), now)
    due = (drift.wake_at, move.wake_at, look, None if goes else goes_at)
    times = [time for time in due if time is not None]
    return TrafficRoutingDecision(status, actions, min(times, default=None), notes, problem)


def _goes_at(
    seen: TrafficRoutingSeen, status: TrafficRoutingStatus, now: datetime
) -> datetime | None:
    """When a TrafficRouting under deletion may go: a grace period after the last route to a member; None if it stays.

    Members do not hold it: one that waits for the TrafficRouting to be made again would wait for ever.
    """
    if not seen.routing.metadata.deleting:
        return None
    left = (member.since or now for member in status.members)
    return max((later(since, grace_of(seen.routing)) for since in left), default=now)


def _finalizer_actions(seen: TrafficRoutingSeen, *, goes: bool) -> tuple[Action, ...]:
    """Our finalizer stays until the routes are restored; finalizers of Rollouts that cannot leave are removed."""
    meta = seen.routing.metadata
    strays = {PROGRESSING_FINALIZER_PREFIX + name for name in seen.strays}
    wanted = tuple(name for name in meta.finalizers if name not in strays)
    if not meta.deleting and TRAFFIC_ROUTING_FINALIZER not in wanted:
        wanted += (TRAFFIC_ROUTING_FINALIZER,)
    if goes:
        wanted = tuple(name for name in wanted if not _is_ours(name))
    if wanted == meta.finalizers:
        return ()
    return (finalizers(TRAFFIC_ROUTING, meta, wanted),)


def _is_ours(finalizer: str) -> bool:
    return finalizer == TRAFFIC_ROUTING_FINALIZER or finalizer.startswith(
        PROGRESSING_FINALIZER_PREFIX
    )


def refused_routing(
    seen: TrafficRoutingSeen,
    decision: TrafficRoutingDecision,
    refusal: Refusal,
    now: datetime,
    undone: tuple[Action, ...] = (),
) -> TrafficRoutingDecision:
    """The decision after the effect refused one of its actions: nobody is admitted by this pass.

    `undone` are the actions that are not carried out because of it, the refused one included.
    """
    before = seen.routing.status.conditions
    decision = without_put_back(decision, undone, before)
    known = {member.rollout: member for member in seen.routing.status.members}
    members = tuple(
        structs.replace(member, release_started_at=known[member.rollout].release_started_at)
        for member in decision.status.members
        if member.rollout in known
    )
    status = structs.replace(decision.status, members=members)
    status = with_condition(status, refusal, now)
    conditions = settled_conditions(before, status.conditions)
    status = structs.replace(status, message=refusal.message, conditions=conditions)
    notes = notes_of(seen.routing.status, status, refusal)
    return structs.replace(decision, status=status, notes=notes, problem=refusal)
