"""Why a TrafficRouting cannot be carried out: its own fields, its members, or its gateway objects.

Invariant: once routes are in use, restoring them is more important than reporting problems of the strategy.
"""

from typing import assert_never

from controller.domain import reasons
from controller.domain.availability import NotServed, or_correct
from controller.domain.decision import (
    Refusal,
)
from controller.domain.observation import RouteAbsent, RoutePresent, RouteSeen, RouteUnreadable
from controller.domain.sides import SideRevision, Sides
from controller.domain.traffic.plan.abilities import missing_abilities, name_of_script
from controller.domain.traffic.restoring.teardown_order import lowest_depth_in_use
from controller.domain.trafficrouting.plans import common_metadata
from controller.domain.trafficrouting.seen import TrafficRoutingSeen


def problem_of(seen: TrafficRoutingSeen, open_routes: tuple[str, ...]) -> Refusal | None:
    """The first obstacle that a person has to remove; None if the routes can be moved."""
    strategy = seen.routing.spec.strategy
    named = f"TrafficRouting {seen.routing.metadata.key}"
    if not seen.routing.metadata.deleting:
        if strategy.weight is None and not strategy.matches:
            text = f"{named}: spec.strategy has neither weight nor matches: set one"
            return Refusal(reasons.INVALID_TRAFFIC_ROUTING, text, object=named)
        if common_metadata(seen) is None:
            given = ", ".join(sorted(member.rollout.metadata.name for member in seen.members))
            text = (
                f"{named}: the Rollouts {given} give their new pods different labels "
                "(patchPodTemplateMetadata), and one route cannot lead to both: make them the same"
            )
            return Refusal(reasons.INVALID_TRAFFIC_ROUTING, text, object=named)
        # Once routes are in use, restoring them and reporting to the members is more important.
        begins = bool(open_routes) or not seen.routing.status.members
        if (
            begins
            and lowest_depth_in_use(seen.routes) is None
            and (unsupported := _unsupported_step(seen))
        ):
            return unsupported
    for route in seen.routes:
        problem = _route_problem(seen, route, needed=bool(open_routes))
        if problem is not None:
            return problem
    return None


def _unsupported_step(seen: TrafficRoutingSeen) -> Refusal | None:
    """A gateway object whose script lacks an ability that the strategy needs: reported before a shared route opens."""
    step = seen.routing.spec.strategy.as_step
    for route in seen.routes:
        if missing := missing_abilities(step, route.reference, route.can):
            return Refusal(
                reasons.UNSUPPORTED_STEP,
                f"spec.strategy cannot be carried out: {name_of_script(route.reference)} cannot "
                f"{' or '.join(missing)}; change spec.strategy, or route the traffic by another object",
                object=route.reference.name_in(seen.routing.metadata.namespace),
            )
    return None


def _route_problem(seen: TrafficRoutingSeen, route: RouteSeen, *, needed: bool) -> Refusal | None:
    """A gateway object that cannot be read; a missing object matters only while a shared route is open."""
    name = route.reference.name_in(seen.routing.metadata.namespace)
    match route.state:
        case RouteAbsent():
            if not needed:
                return None
            text = f"{name} does not exist: create it, or correct spec.objectRef"
            return Refusal(reasons.GATEWAY_OBJECT_NOT_FOUND, text, object=name)
        case RouteUnreadable(why=NotServed()) if not needed:
            return None
        case RouteUnreadable(reason=reason, message=message, why=why):
            return Refusal(reason, or_correct(message, why, "spec.objectRef"), object=name)
        case RoutePresent():
            return None
        case _:
            assert_never(route.state)


def empty_side_refusal(sides: Sides, named: str) -> Refusal | None:
    """The message while a share is sent to the other side; None if no share is."""
    for key, entry in sides.items():
        revision, _, service = key.partition("/")
        if entry.led_away:
            text = (
                f"{named}: no pod of the {revision} revision is ready behind Service {service}: all requests go to the "
                f"{SideRevision(revision).other} revision until one is"
            )
            return Refusal(reasons.SIDE_WITHOUT_ENDPOINTS, text, object=named)
    return None
