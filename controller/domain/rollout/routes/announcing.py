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
from controller.domain.rollout.routes import routing, services
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop
from controller.domain.target import Traffic
from controller.domain.traffic.plan.traffic_plan import announcement, route_plan

WITHDRAWN_FOR = timedelta(seconds=10)
"""The longest time in which a failing script can delay the restoring of an object."""
NAMED_FOR = timedelta(seconds=60)
"""The longest time in which a script that names nothing can delay the first share. The wait loses no request, and a
share that comes unannounced loses many: with ten seconds that happened to a controller that was killed at each write.
"""
REPEATED_AFTER = timedelta(seconds=1)
"""The time after which a refused announcement is written again."""


def _plan(release: Release) -> RoutePlan:
    """The plan without anything that depends on the step, so an edited plan does not change it."""
    return announcement(
        route_plan(
            namespace=release.namespace,
            rollout=release.seen.rollout.metadata.name,
            release=release.ours.release,
            references=release.references,
            step=Step(),
            pod_metadata=release.strategy.patch_pod_template_metadata or PatchMetadata(),
            rollout_uid=release.seen.rollout.metadata.uid,
            stable_labels=routing.stable_labels(release),
        )
    )


def _ensure(release: Release, plan: RoutePlan) -> EnsureRoutes:
    return EnsureRoutes(plan, settles_in=routing.settles_in(release))


def announce(release: Release, index: int) -> tuple[Release, tuple[Action, ...]]:
    """Name the canary Services as soon as they exist; pods become ready meanwhile."""
    unasked = (
        release.target(index).traffic is not Traffic.DIVIDED
        or not release.seen.routes
        or release.shared
    )
    if unasked or release.ours.announced_at is not None or services.canary_services(release):
        return release, ()
    if release.routes_in_use:
        return release.noting(announced_at=release.now), ()
    return release.noting(announced_at=release.now), (_ensure(release, _plan(release)),)


def named_before_share(release: Release) -> Stop | None:
    """The objects that announce Services have named them for the grace period; None also if no object can announce."""
    ours, plan = release.ours, _plan(release)
    if ours.announced_at is None:
        return None
    if any(route.announces and _is_unused(route.state) for route in release.seen.routes):
        ready = max((ours.announced_at, *ours.endpoints_ready_since.values()))
        return _repeated(release, plan, until=ready + max(release.grace, NAMED_FOR))
    begun = max(filter(None, (ours.announced_at, _followed_since(release.status, plan))))
    due = later(begun, release.grace)
    return release.wait(due) if due > release.now else None


def withdraw(release: Release) -> Stop | None:
    """Take the last share from the canary Services, and keep them named for the grace period."""
    led = _announcing(release)
    if not led:
        return None
    plan = _plan(release)
    withdrawn_at = release.ours.withdrawn_at
    kept = release.noting(withdrawn_at=release.now)
    if any(state.plan != plan.identity for state in led):
        if withdrawn_at is not None:
            return _repeated(release, plan, until=withdrawn_at + max(release.grace, WITHDRAWN_FOR))
        ensured = (_ensure(release, plan),)
        return kept.wait(later(release.now, release.grace), *ensured)
    begun = [at for at in (withdrawn_at, _followed_since(release.status, plan)) if at is not None]
    if not begun:
        # A crash took the status that was to record the write.
        return kept.wait(later(release.now, release.grace))
    due = later(max(begun), release.grace)
    return release.wait(due) if due > release.now else None


def _announcing(release: Release) -> list[RoutePresent]:
    """The objects of kinds from which proxies learn of Services."""
    return [
        route.state
        for route in release.seen.routes
        if isinstance(route.state, RoutePresent) and route.state.announced
    ]


def _is_unused(state: RouteState) -> bool:
    return isinstance(state, RoutePresent) and not state.in_use


def _followed_since(status: RolloutStatus, plan: RoutePlan) -> datetime | None:
    """When all objects were first seen to follow the plan; None if that was not recorded."""
    ours = moonshift_status(status)
    return ours.routed_at if ours.route_plan == plan.identity else None


def _repeated(release: Release, plan: RoutePlan, *, until: datetime) -> Stop | None:
    """Write the announcement again if no object has it; None when that was tried for long enough.

    A worker that was just restarting refused the first write, and requests were lost (seen with real requests).
    """
    if release.now >= until:
        return None
    ensured = (_ensure(release, plan),)
    return release.wait(release.now + REPEATED_AFTER, *ensured)
