"""Services are named to the gateways before they get a share, and named still when they have none any more.

Why: some proxies get routes and backends by separate streams (Envoy without an aggregated one, as behind Contour). A
route that names a Service for the first time can be there before its backend is, and one that names it no more after
its backend has gone: every request in between is answered 503. Seen with real requests: one in every second release.
Invariant: an object whose script asks for it names the canary Service without a share for the grace period before the
first share and after the last. Both instants are kept in status; none is waited for where no object was announced.
It must never keep an object from being restored: what cannot be announced or withdrawn is left out.
"""

from controller.api.rollout import PatchMetadata, RolloutStatus, Step
from controller.domain.decision import Action, EnsureRoutes, RoutePlan
from controller.domain.observation import RoutePresent
from controller.domain.rollout import routing
from controller.domain.rollout.situation import Situation, position
from controller.domain.rollout.status import with_position
from controller.domain.rollout.turn import Stop
from controller.domain.traffic.plan import announcement, route_plan


def _plan(sit: Situation, status: RolloutStatus) -> RoutePlan:
    """What does not depend on the step: a plan edited meanwhile takes nothing from it."""
    return announcement(
        route_plan(
            namespace=sit.namespace,
            rollout=sit.seen.rollout.metadata.name,
            release=position(status).release,
            references=sit.references,
            step=Step(),
            pod_metadata=sit.strategy.patch_pod_template_metadata or PatchMetadata(),
            rollout_uid=sit.seen.rollout.metadata.uid,
        )
    )


def announce(
    sit: Situation, status: RolloutStatus, index: int
) -> tuple[RolloutStatus, tuple[Action, ...]]:
    """Name the canary Services as soon as they are there: pods become ready meanwhile."""
    step = sit.step(index)
    unasked = not step.routes_traffic or sit.takes_all(index) or not sit.seen.routes or sit.shared
    if unasked or position(status).announced_at is not None or routing.canary_services(sit):
        return status, ()
    if sit.routes_in_use:
        return with_position(status, announced_at=sit.now), ()
    return with_position(status, announced_at=sit.now), (EnsureRoutes(_plan(sit, status)),)


def withdraw(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Take the last share from the canary Services, and leave them named until proxies have had the margin."""
    led = [
        route.state
        for route in sit.seen.routes
        if isinstance(route.state, RoutePresent) and route.state.announced
    ]
    if not led:
        return None
    plan = _plan(sit, status)
    withdrawn_at = position(status).withdrawn_at
    if withdrawn_at is None:
        if all(state.plan == plan.identity for state in led):
            return None
        kept = with_position(status, withdrawn_at=sit.now)
        return Stop(kept, (EnsureRoutes(plan),), wake_at=sit.now + sit.grace)
    due = withdrawn_at + sit.grace
    return Stop(status, wake_at=due) if due > sit.now else None


def forgotten(status: RolloutStatus) -> RolloutStatus:
    """The routes are their owner's again: what comes next is announced anew."""
    return with_position(status, announced_at=None, withdrawn_at=None)
