"""Restores routes: objects that nothing refers to at once, deeper ones a grace period after those above them.

Invariant: a grace period begins when all objects above are first seen restored, never at an instant kept from an
earlier restore: before a route that is used again is restored, the status records that it was in use.
"""

from typing import assert_never

from controller.api.rollout import RolloutStatus
from controller.domain import reasons
from controller.domain.availability import NotServed
from controller.domain.decision import Action, Refusal, RestoreRoutes
from controller.domain.observation import RouteAbsent, RoutePresent, RouteUnreadable
from controller.domain.rollout import announcing, empty_sides, routing, services
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.rollout.transition import Stop, wait_by_choice
from controller.domain.traffic.restoring.teardown_order import lowest_depth_in_use, next_to_restore


def restore(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """First send all traffic to the stable Services, then restore the objects; None when all are restored."""
    waiting = announcing.withdraw(context, status)
    if waiting is not None:
        return waiting
    depth = lowest_depth_in_use(context.seen.routes)
    if depth is None:
        return None
    if depth == 0:
        unpinned = _unpin_if_stable_is_gone(context, status)
        if unpinned is not None:
            return unpinned
        actions = restore_depth_zero(context, status)
    else:
        due = routing.grace_period_end(context, status)
        if due is not None:
            return wait_by_choice(status, due)
        actions = _restorations(context, status, depth)
    return Stop(status=status, actions=actions)


def _unpin_if_stable_is_gone(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """The stable Service would get all requests and has no ready pod, but would have some un-pinned: un-pin it first.

    Not for a workload without replicas: its new pods are removed as well, and must not get requests in another way.
    """
    if context.shared or context.seen.workload is None or not context.replicas:
        return None
    empty = [
        name
        for name in context.stable_services
        if not empty_sides.reaches_a_ready_pod(context, name)
        and empty_sides.ready_pods_if_unpinned(context, name)
    ]
    if not empty:
        return None
    return Stop(status, tuple(a for a in services.unpin(context) if a.service.name in empty))


def restore_depth_zero(context: ReleaseContext, status: RolloutStatus) -> tuple[Action, ...]:
    """Restore objects that no other object names; no action if the stored status says that they were restored
    before.
    """
    known = moonshift_status(context.seen.rollout.status).route_plan
    return () if routing.marks_partial_restore(known) else _restorations(context, status, depth=0)


def _restorations(context: ReleaseContext, status: RolloutStatus, depth: int) -> tuple[Action, ...]:
    meta = context.seen.rollout.metadata
    references = next_to_restore(context.seen.routes, depth)
    release = moonshift_status(status).release
    return (RestoreRoutes(context.namespace, references, release, meta.name, meta.uid),)


def unrestorable(context: ReleaseContext, status: RolloutStatus) -> Refusal | None:
    """A gateway object that may follow our plan, and whose original is not known now.

    Going on without it could remove pods that it leads to. A kind that is no longer served has no objects, and an
    object that another Rollout uses does not follow us.
    """
    ours = moonshift_status(status)
    if not (ours.route_plan or ours.endpoints_ready_since):
        return None
    for route in context.seen.routes:
        match route.state:
            case RouteUnreadable(why=NotServed()):
                continue
            case RouteUnreadable(reason=reason, message=message):
                if reason != reasons.GATEWAY_OBJECT_IN_USE:
                    named = route.reference.name_in(context.namespace)
                    return Refusal(reason=reason, message=message, object=named)
            case RouteAbsent() | RoutePresent():
                continue
            case _:
                assert_never(route.state)
    return None
