"""A Rollout and the TrafficRouting that it shares with others: joining, waiting for its shared route, leaving.

Invariant: the shared route is open before a step waits for people, and has been closed for the grace period before a
pod behind it is removed. A Rollout that names a missing TrafficRouting, or one whose routes the API server does not
accept, waits before its first move.
"""

from datetime import timedelta

from controller.api import names
from controller.api.duration import later
from controller.api.rollout import Rollout
from controller.api.trafficrouting import Member, TrafficRouting
from controller.api.workloads import Pod, label_value
from controller.domain import reasons
from controller.domain.decision import TRAFFIC_ROUTING, Refusal, finalizers
from controller.domain.rollout.words.release_context import Style
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop
from controller.domain.rollout.words.way_out import create_or
from controller.domain.trafficrouting.seen import finalizer_of, grace_of, joined

ROUTES_OPEN_WITHIN = timedelta(seconds=30)
"""A shared route opens within this time and two grace periods, also on a busy control plane."""


def shared_routing_of(rollout: Rollout) -> str:
    """The TrafficRouting that a Rollout names, by field or (as in v1alpha1) by annotation; empty when none."""
    strategy = rollout.spec.strategy.canary or rollout.spec.strategy.blue_green
    named = strategy.traffic_routing_ref if strategy is not None else ""
    return named or rollout.metadata.annotations.get(names.TRAFFIC_ROUTING, "")


def divides_traffic(release: Release) -> bool:
    """Routes of the Rollout, or of a TrafficRouting that it names, divide the requests between its revisions."""
    return bool(release.strategy.traffic_routings or shared_routing_of(release.seen.rollout))


def join(release: Release) -> Stop | None:
    """Join before the first pod is created; None when the Rollout has joined, or shares nothing."""
    name = shared_routing_of(release.seen.rollout)
    if not name:
        return None
    routing = release.seen.traffic_routing
    if routing is None or routing.metadata.deleting:
        state = "does not exist" if routing is None else "is being deleted"
        named = f"TrafficRouting {release.namespace}/{name}"
        text = f"{named} {state}: {create_or('trafficRoutingRef', release.status)}"
        return release.stop(problem=Refusal(reasons.TRAFFIC_ROUTING_NOT_FOUND, text, object=named))
    if _is_member(release, routing):
        return None
    joined_by = (*routing.metadata.finalizers, _finalizer(release))
    return release.stop(finalizers(TRAFFIC_ROUTING, routing.metadata, joined_by))


def is_not_admitted(release: Release) -> Stop | None:
    """Wait, before the first pod, until the TrafficRouting has tried the routes of this release without writing them;
    None when it has, or nothing is shared.
    """
    if not shared_routing_of(release.seen.rollout):
        return None
    member, ours = _member(release), release.ours
    if member is not None and (
        member.routed or ours.returning or member.release_started_at in (None, ours.started_at)
    ):
        return None
    return release.stop(problem=_trouble(release))


def shared_route_is_closed(release: Release) -> Stop | None:
    """Wait until the shared routes lead to the new pods, and no other writer holds them; None when that is so, or
    nothing is shared.
    """
    if not shared_routing_of(release.seen.rollout):
        return None
    if shared_route_is_open(release):
        held = hindrance(release)
        is_held = held is not None and held.reason == reasons.ROUTE_HELD
        return release.stop(problem=held) if is_held else None
    return join(release) or _waits_for_route(release)


def _waits_for_route(release: Release) -> Stop:
    """Reported if it takes long: without a Service that leads to the new pods, it would take for ever."""
    trouble = _trouble(release)
    ready = [pod.ready_since for pod in release.new_pods if pod.ready_since is not None]
    if trouble is not None or not ready:
        return release.stop(problem=trouble)
    routing = release.seen.traffic_routing
    assert routing is not None, "a Rollout without its TrafficRouting waits in `join`"
    due = later(max(ready), 2 * grace_of(routing) + ROUTES_OPEN_WITHIN)
    if due > release.now:
        return release.wait(due)
    named = f"TrafficRouting {release.namespace}/{shared_routing_of(release.seen.rollout)}"
    text = f"{named} does not lead to the new pods, which are ready: name a Service that selects them in spec.objectRef"
    return release.stop(problem=Refusal(reasons.SERVICE_SELECTS_NO_POD, text, object=named))


def pods_led_to(release: Release) -> tuple[Pod, ...]:
    """Pods that shared routes lead to: those of the release, also while it is rolled back or replaced by another."""
    stable = release.ours.stable_revision
    if release.style is Style.CANARY or not stable:
        return release.new_pods
    return tuple(pod for pod in release.workload.pods if pod.revision != stable)


def shared_route_is_open(release: Release) -> bool:
    """The shared routes lead to new pods of this Rollout."""
    member = _member(release)
    return member is not None and member.routed


def leave(release: Release) -> Stop | None:
    """Remove our finalizer, then wait until no route has led to our pods for the grace period."""
    routing = release.seen.traffic_routing
    if routing is None:
        return None
    if _is_member(release, routing):
        others = tuple(f for f in routing.metadata.finalizers if f != _finalizer(release))
        return release.stop(finalizers(TRAFFIC_ROUTING, routing.metadata, others))
    member = _member(release)
    if member is None:
        return None
    if member.routed:
        # The TrafficRouting restores deeper gateway objects a grace period after those above them.
        return release.stop(problem=_trouble(release), by_choice=routing.status.descent is not None)
    due = later(member.since or release.now, grace_of(routing))
    return release.wait(due) if due > release.now else None


def hindrance(release: Release) -> Refusal | None:
    """The problem that keeps the shared routes from following, once this Rollout shares them; None if it may be about
    the routes of a Rollout that has just joined, which hinders no other release. `shared_side_is_empty` has its own.
    """
    routing, found = release.seen.traffic_routing, _trouble(release)
    if routing is None or found is None or _member(release) is None:
        return None
    if found.reason == reasons.SIDE_WITHOUT_ENDPOINTS:
        return None
    known = {label_value(member.rollout) for member in routing.status.members}
    newcomers = set(joined(routing)) - known
    return None if newcomers and found.reason != reasons.ROUTE_HELD else found


def shared_side_is_empty(release: Release) -> Refusal | None:
    """The shared routes send everything to one revision, because no pod of the other is ready."""
    found = _trouble(release) if _member(release) is not None else None
    return found if found is not None and found.reason == reasons.SIDE_WITHOUT_ENDPOINTS else None


def _trouble(release: Release) -> Refusal | None:
    """The problem in the TrafficRouting's own status, which keeps the shared routes from following."""
    routing = release.seen.traffic_routing
    conditions = routing.status.conditions if routing is not None else ()
    found = next((c for c in conditions if c.type == "Stalled" and c.status == "True"), None)
    return Refusal(found.reason, found.message) if found is not None else None


def _member(release: Release) -> Member | None:
    routing = release.seen.traffic_routing
    name = release.seen.rollout.metadata.name
    members = routing.status.members if routing is not None else ()
    return next((member for member in members if member.rollout == name), None)


def _is_member(release: Release, routing: TrafficRouting) -> bool:
    return _finalizer(release) in routing.metadata.finalizers


def _finalizer(release: Release) -> str:
    return finalizer_of(release.seen.rollout.metadata.name)
