"""Restores routes: objects that nothing refers to at once, deeper ones a grace period after those above them.

Invariant: a grace period begins when all objects above are first seen restored, never at an instant kept from an
earlier restore: before a route that is used again is restored, the status records that it was in use.
"""

from typing import assert_never

from msgspec import structs

from controller.domain import reasons
from controller.domain.availability import NotServed
from controller.domain.decision import Action, Refusal, RestoreRoutes
from controller.domain.observation import RouteAbsent, RoutePresent, RouteUnreadable
from controller.domain.rollout.routes import announcing, empty_sides, routing, services
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop
from controller.domain.traffic.drift.policy import Drift
from controller.domain.traffic.restoring.teardown_order import lowest_depth_in_use, next_to_restore


def restore(release: Release) -> Stop | None:
    """First send all traffic to the stable Services, then restore the objects; None when all are restored."""
    waiting = announcing.withdraw(release)
    if waiting is not None:
        return waiting
    depth = lowest_depth_in_use(release.seen.routes)
    if depth is None:
        return None
    if depth == 0:
        unpinned = _unpin_if_stable_is_gone(release)
        if unpinned is not None:
            return unpinned
        actions = restore_depth_zero(release)
    else:
        due = routing.grace_period_end(release)
        if due is not None:
            return release.wait(due)
        actions = _restorations(release, depth)
    return release.stop(*actions)


def _unpin_if_stable_is_gone(release: Release) -> Stop | None:
    """The stable Service would get all requests and has no ready pod, but would have some un-pinned: un-pin it first.

    Not for a workload without replicas: its new pods are removed as well, and must not get requests in another way.
    """
    if release.shared or release.seen.workload is None or not release.replicas:
        return None
    empty = [
        name
        for name in release.stable_services
        if not empty_sides.reaches_a_ready_pod(release, name)
        and empty_sides.ready_pods_if_unpinned(release, name)
    ]
    if not empty:
        return None
    return release.stop(*(a for a in services.unpin(release) if a.service.name in empty))


def restore_depth_zero(release: Release) -> tuple[Action, ...]:
    """Restore objects that no other object names; no action if the stored status says that they were restored
    before.
    """
    known = moonshift_status(release.stored).route_plan
    return () if routing.marks_partial_restore(known) else _restorations(release, depth=0)


def lead_away_from_a_left_change(
    release: Release, drift: Drift
) -> tuple[tuple[Action, ...], Refusal | None]:
    """The refusal of a step whose drift is left; with the restore of the objects that name the changed one, because
    they may name what it has lost. They follow the step again when it is right again.

    Only while stable pods are ready, which then get all requests.
    """
    held = drift.held
    if held is None or not drift.names_nothing or not empty_sides.stable_uids(release):
        return (), held
    text = f"{held.message}; until then all requests go to the stable revision"
    actions = restore_depth_zero(release) if release.routes_lead else ()
    return actions, structs.replace(held, message=text)


def _restorations(release: Release, depth: int) -> tuple[Action, ...]:
    meta = release.seen.rollout.metadata
    references = next_to_restore(release.seen.routes, depth)
    identity = release.ours.release
    return (RestoreRoutes(release.namespace, references, identity, meta.name, meta.uid),)


def unrestorable(release: Release) -> Refusal | None:
    """A gateway object that may follow our plan, and whose original is not known now.

    Going on without it could remove pods that it leads to. A kind that is no longer served has no objects, and an
    object that another Rollout uses does not follow us.
    """
    ours = release.ours
    if not (ours.route_plan or ours.endpoints_ready_since):
        return None
    for route in release.seen.routes:
        match route.state:
            case RouteUnreadable(why=NotServed()):
                continue
            case RouteUnreadable(reason=reason, message=message):
                if reason != reasons.GATEWAY_OBJECT_IN_USE:
                    named = route.reference.name_in(release.namespace)
                    return Refusal(reason=reason, message=message, object=named)
            case RouteAbsent() | RoutePresent():
                continue
            case _:
                assert_never(route.state)
    return None
