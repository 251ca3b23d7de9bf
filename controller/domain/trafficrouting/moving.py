"""The actions on shared routes in one pass: open ones follow their plan, the others are restored in teardown order.

Invariant: objects that a closed route pointed at are restored a grace period after that route.
"""

from datetime import datetime

from controller.api.duration import later
from controller.api.rollout import NamedContent
from controller.api.trafficrouting import (
    Teardown,
)
from controller.domain.decision import (
    Action,
    EnsureRoutes,
    Reference,
    RestoreRoutes,
    RoutePlan,
    Value,
)
from controller.domain.observation import RoutePresent, RouteSeen
from controller.domain.sides import Sides
from controller.domain.traffic.named_content import settles_in
from controller.domain.traffic.restoring.teardown_order import lowest_depth_in_use, next_to_restore
from controller.domain.trafficrouting.plans import plans_of
from controller.domain.trafficrouting.seen import TrafficRoutingSeen, grace_of


class Move(Value, frozen=True):
    """The actions on routes in a pass, and the state of a restore that has to wait."""

    actions: tuple[Action, ...] = ()
    descent: Teardown | None = None
    unfinished: bool = False
    """Another pass has to continue the restore: after the grace period, or once the status is written."""
    wake_at: datetime | None = None


def move_routes(
    seen: TrafficRoutingSeen,
    open_routes: tuple[str, ...],
    sides: Sides,
    now: datetime,
    at: datetime | None,
    named: NamedContent | None = None,
) -> Move:
    """Gateway objects of open shared routes follow their plan; the other objects are restored in teardown order."""
    plans = plans_of(seen, open_routes, sides)
    plan = plans[0]
    wanted = {_place_of(ref): each for each in plans for ref in each.references}
    closed = tuple(route for route in seen.routes if _place(route) not in wanted)
    depth, known = lowest_depth_in_use(closed), seen.routing.status.descent
    outdated = {
        found.identity
        for route in seen.routes
        if (found := wanted.get(_place(route))) is not None and not _follows(route, found)
    }
    settles = settles_in(named, grace_of(seen.routing), now)
    wrong = tuple(EnsureRoutes(each, at, settles) for each in plans if each.identity in outdated)
    if wrong or depth == 0:
        if known is not None:
            # The record of an earlier teardown would shorten the wait after this one if the process stopped in between.
            return Move(unfinished=True)
        restoring = (_restored(plan, closed, 0),) if depth == 0 else ()
        return Move((*restoring, *wrong))
    if depth is None:
        return Move()
    since = known.since if known is not None and known.depth == depth else None
    descent = Teardown(depth, since or now)
    due = later(since or now, grace_of(seen.routing))
    if due > now:
        return Move(descent=descent, unfinished=True, wake_at=due)
    return Move((_restored(plan, closed, depth),), descent)


def _place(route: RouteSeen) -> tuple[str, str, str]:
    return _place_of(route.reference)


def _place_of(reference: Reference) -> tuple[str, str, str]:
    return reference.group, reference.kind, reference.name


def _restored(plan: RoutePlan, closed: tuple[RouteSeen, ...], depth: int) -> RestoreRoutes:
    references = next_to_restore(closed, depth)
    return RestoreRoutes(
        plan.namespace,
        references,
        plan.release,
        plan.rollout,
        rollout_uid=plan.rollout_uid,
        others=plan.others,
    )


def _follows(route: RouteSeen, plan: RoutePlan) -> bool:
    """The object follows this plan, and nobody else changed it."""
    state = route.state
    return (
        isinstance(state, RoutePresent)
        and state.plan == plan.identity
        and not (state.touched or state.edited)
    )
