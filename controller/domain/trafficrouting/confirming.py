"""A shared route counts as open for a new member only when its gateways say that they took the objects, where their
kinds say so.

Invariants: a member that is routed already, or leaves, never waits; nothing is asked while no member waits.
"""

from controller.domain.decision import ConfirmRoutes, Refusal, Value
from controller.domain.observation import RouteSeen
from controller.domain.sides import Sides
from controller.domain.traffic.taken_routes import is_to_be_asked, refusal_by_gateway, waited_for
from controller.domain.trafficrouting.plans import plans_of
from controller.domain.trafficrouting.seen import TrafficRoutingSeen
from controller.domain.trafficrouting.shared_routes import is_routed


class Confirmation(Value, frozen=True):
    """The gateways' objections to the open routes that a member waits for; empty if they took them."""

    actions: tuple[ConfirmRoutes, ...] = ()
    refused: Refusal | None = None
    waits: str = ""

    @property
    def taken(self) -> bool:
        """Nothing keeps the members from being routed."""
        return not self.actions and self.refused is None and not self.waits


def confirmation(
    seen: TrafficRoutingSeen, open_routes: tuple[str, ...], sides: Sides
) -> Confirmation:
    """The gateways' verdicts, once the objects follow their plans."""
    routes = tuple(r for r in seen.routes if r.reference.stable_service in open_routes)
    if not _a_member_waits(seen, open_routes):
        return Confirmation()
    if is_to_be_asked(routes):
        plans = plans_of(seen, open_routes, sides)
        asked = (p for p in plans if is_to_be_asked(_of(routes, p.references)))
        return Confirmation(actions=tuple(map(ConfirmRoutes, asked)))
    namespace = seen.routing.metadata.namespace
    refused = refusal_by_gateway(routes, namespace)
    return Confirmation(refused=refused, waits=waited_for(routes, namespace, None))


def _of(routes: tuple[RouteSeen, ...], references: tuple[object, ...]) -> tuple[RouteSeen, ...]:
    return tuple(route for route in routes if route.reference in references)


def _a_member_waits(seen: TrafficRoutingSeen, open_routes: tuple[str, ...]) -> bool:
    """An open route leads to pods of a member that is not routed yet."""
    routed = {member.rollout for member in seen.routing.status.members if member.routed}
    return any(
        member.rollout.metadata.name not in routed and is_routed(seen, member, open_routes)
        for member in seen.members
    )
