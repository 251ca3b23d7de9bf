"""Names Services in gateway objects before they get a share, and for a while after their last share.

Why: some proxies get routes and backends by separate streams (Envoy without an aggregated stream, as behind Contour). A
route that names a Service for the first time can arrive before its backend, and a route that stops naming a Service can
leave after its backend: every request in between is answered 503. Seen with real requests in every second release.
Invariant: an object whose script asks for it names the canary Service without a share for the grace period before the
first share and after the last. Both instants are kept in the status; without an announced object there is no wait. This
must never keep an object from being restored: an object that cannot be announced is left out.
"""

from controller.api.rollout import PatchMetadata, RolloutStatus, Step
from controller.domain.decision import Action, EnsureRoutes, RoutePlan
from controller.domain.observation import RoutePresent
from controller.domain.rollout import services
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.rollout.status import with_moonshift_status
from controller.domain.rollout.transition import Stop
from controller.domain.traffic.plan.traffic_plan import announcement, route_plan


def _plan(context: ReleaseContext, status: RolloutStatus) -> RoutePlan:
    """The plan without anything that depends on the step, so an edited plan does not change it."""
    return announcement(
        route_plan(
            namespace=context.namespace,
            rollout=context.seen.rollout.metadata.name,
            release=moonshift_status(status).release,
            references=context.references,
            step=Step(),
            pod_metadata=context.strategy.patch_pod_template_metadata or PatchMetadata(),
            rollout_uid=context.seen.rollout.metadata.uid,
        )
    )


def announce(
    context: ReleaseContext, status: RolloutStatus, index: int
) -> tuple[RolloutStatus, tuple[Action, ...]]:
    """Name the canary Services as soon as they exist; pods become ready meanwhile."""
    step = context.step(index)
    unasked = (
        not step.routes_traffic
        or context.takes_all(index)
        or not context.seen.routes
        or context.shared
    )
    if (
        unasked
        or moonshift_status(status).announced_at is not None
        or services.canary_services(context)
    ):
        return status, ()
    if context.routes_in_use:
        return with_moonshift_status(status, announced_at=context.now), ()
    return with_moonshift_status(status, announced_at=context.now), (
        EnsureRoutes(_plan(context, status)),
    )


def withdraw(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Take the last share from the canary Services, and keep them named for the grace period."""
    led = [
        route.state
        for route in context.seen.routes
        if isinstance(route.state, RoutePresent) and route.state.announced
    ]
    if not led:
        return None
    plan = _plan(context, status)
    withdrawn_at = moonshift_status(status).withdrawn_at
    if withdrawn_at is None:
        if all(state.plan == plan.identity for state in led):
            return None
        kept = with_moonshift_status(status, withdrawn_at=context.now)
        return Stop(kept, (EnsureRoutes(plan),), wake_at=context.now + context.grace)
    due = withdrawn_at + context.grace
    return Stop(status, wake_at=due) if due > context.now else None
