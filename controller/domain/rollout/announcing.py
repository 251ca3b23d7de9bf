"""Names Services in gateway objects before they get a share, and for a while after their last share.

Why: some proxies get routes and backends by separate streams (Envoy without an aggregated stream, as behind Contour). A
route that names a Service for the first time can arrive before its backend, and a route that stops naming a Service can
leave after its backend: every request in between is answered 503. Seen with real requests in every second release.
Invariant: an object whose script asks for it names the canary Service without a share for the grace period before the
first share and after the last. Both instants are kept in the status; without an announced object there is no wait. This
must never keep an object from being restored for long: an object that cannot be announced is left out.
"""

from datetime import datetime, timedelta

from controller.api.duration import later
from controller.api.rollout import PatchMetadata, RolloutStatus, Step
from controller.domain.decision import Action, EnsureRoutes, RoutePlan
from controller.domain.observation import RoutePresent, RouteState
from controller.domain.rollout import routing, services
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.rollout.status import with_moonshift_status
from controller.domain.rollout.transition import Stop, wait_by_choice
from controller.domain.traffic.plan.traffic_plan import announcement, route_plan

WITHDRAWN_FOR = timedelta(seconds=10)
"""The longest time in which a failing script can delay the restoring of an object."""
NAMED_FOR = timedelta(seconds=60)
"""The longest time in which a script that names nothing can delay the first share. The wait loses no request, and a
share that comes unannounced loses many: with ten seconds that happened to a controller that was killed at each write.
"""
REPEATED_AFTER = timedelta(seconds=1)
"""The time after which a refused announcement is written again."""


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
            stable_labels=routing.stable_labels(context, status),
        )
    )


def _ensure(context: ReleaseContext, status: RolloutStatus, plan: RoutePlan) -> EnsureRoutes:
    return EnsureRoutes(plan, settles_in=routing.settles_in(context, status))


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
        _ensure(context, status, _plan(context, status)),
    )


def named_before_share(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """The objects that announce Services have named them for the grace period; None also if no object can announce."""
    ours, plan = moonshift_status(status), _plan(context, status)
    if ours.announced_at is None:
        return None
    if any(route.announces and _is_unused(route.state) for route in context.seen.routes):
        ready = max((ours.announced_at, *ours.endpoints_ready_since.values()))
        return _repeated(context, status, plan, until=ready + max(context.grace, NAMED_FOR))
    begun = max(filter(None, (ours.announced_at, _followed_since(status, plan))))
    due = later(begun, context.grace)
    return wait_by_choice(status, due) if due > context.now else None


def withdraw(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Take the last share from the canary Services, and keep them named for the grace period."""
    led = _announcing(context)
    if not led:
        return None
    plan = _plan(context, status)
    withdrawn_at = moonshift_status(status).withdrawn_at
    kept = with_moonshift_status(status, withdrawn_at=context.now)
    if any(state.plan != plan.identity for state in led):
        if withdrawn_at is not None:
            return _repeated(
                context, status, plan, until=withdrawn_at + max(context.grace, WITHDRAWN_FOR)
            )
        ensured = (_ensure(context, status, plan),)
        return wait_by_choice(kept, later(context.now, context.grace), ensured)
    begun = [at for at in (withdrawn_at, _followed_since(status, plan)) if at is not None]
    if not begun:
        # A crash took the status that was to record the write.
        return wait_by_choice(kept, later(context.now, context.grace))
    due = later(max(begun), context.grace)
    return wait_by_choice(status, due) if due > context.now else None


def _announcing(context: ReleaseContext) -> list[RoutePresent]:
    """The objects of kinds from which proxies learn of Services."""
    return [
        route.state
        for route in context.seen.routes
        if isinstance(route.state, RoutePresent) and route.state.announced
    ]


def _is_unused(state: RouteState) -> bool:
    return isinstance(state, RoutePresent) and not state.in_use


def _followed_since(status: RolloutStatus, plan: RoutePlan) -> datetime | None:
    """When all objects were first seen to follow the plan; None if that was not recorded."""
    ours = moonshift_status(status)
    return ours.routed_at if ours.route_plan == plan.identity else None


def _repeated(
    context: ReleaseContext, status: RolloutStatus, plan: RoutePlan, *, until: datetime
) -> Stop | None:
    """Write the announcement again if no object has it; None when that was tried for long enough.

    A worker that was just restarting refused the first write, and requests were lost (seen with real requests).
    """
    if context.now >= until:
        return None
    ensured = (_ensure(context, status, plan),)
    return wait_by_choice(status, context.now + REPEATED_AFTER, ensured)
