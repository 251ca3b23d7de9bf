"""Routes are their owners' again: what nothing points at at once, what is deeper after the margin of what was above.

Invariant: a margin begins when it is first seen that everything above is given back, never with an instant that was
kept of an earlier time: before a route that leads again is given back, status says that it led.
"""

from typing import assert_never

from controller.api.rollout import RolloutStatus
from controller.domain.availability import NotServed
from controller.domain.decision import Action, Refusal, RestoreRoutes
from controller.domain.observation import RouteAbsent, RoutePresent, RouteUnreadable
from controller.domain.rollout import announcing, empty_sides, routing
from controller.domain.rollout.situation import Situation, position
from controller.domain.rollout.turn import Stop
from controller.domain.traffic.descent import depth_reached, next_down


def restore(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Nothing goes to the new revision's Services first, then the objects are given back; None when all are."""
    waiting = announcing.withdraw(sit, status)
    if waiting is not None:
        return waiting
    depth = depth_reached(sit.seen.routes)
    if depth is None:
        return None
    if depth == 0:
        unpinned = _stable_gone(sit, status)
        if unpinned is not None:
            return unpinned
        actions = give_back_what_leads(sit, status)
    else:
        due = routing.margin_end(sit, status)
        if due is not None:
            return Stop(status=status, wake_at=due)
        actions = _given_back(sit, status, depth)
    return Stop(status=announcing.forgotten(status), actions=actions)


def _stable_gone(sit: Situation, status: RolloutStatus) -> Stop | None:
    """A stable Service that is about to get everything leads nowhere, and un-pinned it would: then that comes first.

    Not of a workload without replicas: its new pods go as well, and no request is to come to them by another way.
    """
    if sit.shared or sit.seen.workload is None or not sit.replicas:
        return None
    empty = [
        name
        for name in sit.stable_services
        if not empty_sides.reaches_somebody(sit, name) and empty_sides.would_lead_to(sit, name)
    ]
    if not empty:
        return None
    return Stop(status, tuple(a for a in routing.unpin(sit) if a.service.name in empty))


def give_back_what_leads(sit: Situation, status: RolloutStatus) -> tuple[Action, ...]:
    """What nothing points at, at once; nothing yet where the stored status says that it was given back before."""
    known = position(sit.seen.rollout.status).route_plan
    return () if routing.says_given_back(known) else _given_back(sit, status, depth=0)


def _given_back(sit: Situation, status: RolloutStatus, depth: int) -> tuple[Action, ...]:
    meta = sit.seen.rollout.metadata
    references = next_down(sit.seen.routes, depth)
    release = position(status).release
    return (RestoreRoutes(sit.namespace, references, release, meta.name, meta.uid),)


def unrestorable(sit: Situation, status: RolloutStatus) -> Refusal | None:
    """A gateway object that may follow a plan of ours, and whose original cannot be told now.

    Going on without it would take away what it leads to. A kind that is no longer served has no objects, and what
    another Rollout uses does not follow us.
    """
    ours = position(status)
    if not (ours.route_plan or ours.endpoints_ready_since):
        return None
    for route in sit.seen.routes:
        match route.state:
            case RouteUnreadable(why=NotServed()):
                continue
            case RouteUnreadable(reason=reason, message=message):
                if reason != routing.GATEWAY_OBJECT_IN_USE:
                    named = f"{route.reference.kind} {sit.namespace}/{route.reference.name}"
                    return Refusal(reason=reason, message=message, object=named)
            case RouteAbsent() | RoutePresent():
                continue
            case _:
                assert_never(route.state)
    return None
