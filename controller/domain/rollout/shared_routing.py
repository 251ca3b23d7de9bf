"""A Rollout and the TrafficRouting that it shares with others: joining, waiting for its shared route, leaving.

Invariant: the shared route is open before a step waits for people, and has been closed for the grace period before a
pod behind it is removed. A Rollout that names a missing TrafficRouting, or one whose routes the API server does not
accept, waits before its first move.
"""

from datetime import timedelta

from controller.api import names
from controller.api.duration import later
from controller.api.rollout import Rollout, RolloutStatus
from controller.api.trafficrouting import Member, TrafficRouting
from controller.api.workloads import Pod, label_value
from controller.domain import reasons
from controller.domain.decision import Refusal, SetFinalizers
from controller.domain.rollout.release_context import ReleaseContext, Style, moonshift_status
from controller.domain.rollout.transition import Stop, wait_by_choice
from controller.domain.rollout.way_out import create_or
from controller.domain.trafficrouting.seen import finalizer_of, grace_of, joined

ROUTES_OPEN_WITHIN = timedelta(seconds=30)
"""A shared route opens within this time and two grace periods, also on a busy control plane."""


def shared_routing_of(rollout: Rollout) -> str:
    """The TrafficRouting that a Rollout names, by field or (as in v1alpha1) by annotation; empty when none."""
    strategy = rollout.spec.strategy.canary or rollout.spec.strategy.blue_green
    named = strategy.traffic_routing_ref if strategy is not None else ""
    return named or rollout.metadata.annotations.get(names.TRAFFIC_ROUTING, "")


def divides_traffic(context: ReleaseContext) -> bool:
    """Routes of the Rollout, or of a TrafficRouting that it names, divide the requests between its revisions."""
    return bool(context.strategy.traffic_routings or shared_routing_of(context.seen.rollout))


def join(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Join before the first pod is created; None when the Rollout has joined, or shares nothing."""
    name = shared_routing_of(context.seen.rollout)
    if not name:
        return None
    routing = context.seen.traffic_routing
    if routing is None or routing.metadata.deleting:
        state = "does not exist" if routing is None else "is being deleted"
        named = f"TrafficRouting {context.namespace}/{name}"
        text = f"{named} {state}: {create_or('trafficRoutingRef', status)}"
        return Stop(status, problem=Refusal(reasons.TRAFFIC_ROUTING_NOT_FOUND, text, object=named))
    if _is_member(context, routing):
        return None
    finalizers = (*routing.metadata.finalizers, _finalizer(context))
    return Stop(status, (_set(routing, finalizers),))


def is_not_admitted(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Wait, before the first pod, until the TrafficRouting has tried the routes of this release without writing them;
    None when it has, or nothing is shared.
    """
    if not shared_routing_of(context.seen.rollout):
        return None
    member, ours = _member(context), moonshift_status(status)
    if member is not None and (
        member.routed or ours.returning or member.release_started_at in (None, ours.started_at)
    ):
        return None
    return Stop(status, problem=_trouble(context))


def shared_route_is_closed(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Wait until the shared routes lead to the new pods, and no other writer holds them; None when that is so, or
    nothing is shared.
    """
    if not shared_routing_of(context.seen.rollout):
        return None
    if shared_route_is_open(context):
        held = hindrance(context)
        is_held = held is not None and held.reason == reasons.ROUTE_HELD
        return Stop(status, problem=held) if is_held else None
    return join(context, status) or _waits_for_route(context, status)


def _waits_for_route(context: ReleaseContext, status: RolloutStatus) -> Stop:
    """Reported if it takes long: without a Service that leads to the new pods, it would take for ever."""
    trouble = _trouble(context)
    ready = [pod.ready_since for pod in context.new_pods if pod.ready_since is not None]
    if trouble is not None or not ready:
        return Stop(status, problem=trouble)
    routing = context.seen.traffic_routing
    assert routing is not None, "a Rollout without its TrafficRouting waits in `join`"
    due = later(max(ready), 2 * grace_of(routing) + ROUTES_OPEN_WITHIN)
    if due > context.now:
        return wait_by_choice(status, due)
    named = f"TrafficRouting {context.namespace}/{shared_routing_of(context.seen.rollout)}"
    text = f"{named} does not lead to the new pods, which are ready: name a Service that selects them in spec.objectRef"
    return Stop(status, problem=Refusal(reasons.SERVICE_SELECTS_NO_POD, text, object=named))


def pods_led_to(context: ReleaseContext) -> tuple[Pod, ...]:
    """Pods that shared routes lead to: those of the release, also while it is rolled back or replaced by another."""
    stable = moonshift_status(context.seen.rollout.status).stable_revision
    if context.style is Style.CANARY or not stable:
        return context.new_pods
    return tuple(pod for pod in context.workload.pods if pod.revision != stable)


def shared_route_is_open(context: ReleaseContext) -> bool:
    """The shared routes lead to new pods of this Rollout."""
    member = _member(context)
    return member is not None and member.routed


def leave(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Remove our finalizer, then wait until no route has led to our pods for the grace period."""
    routing = context.seen.traffic_routing
    if routing is None:
        return None
    if _is_member(context, routing):
        others = tuple(f for f in routing.metadata.finalizers if f != _finalizer(context))
        return Stop(status, (_set(routing, others),))
    member = _member(context)
    if member is None:
        return None
    if member.routed:
        # The TrafficRouting restores deeper gateway objects a grace period after those above them.
        return Stop(status, problem=_trouble(context), by_choice=routing.status.descent is not None)
    due = later(member.since or context.now, grace_of(routing))
    return wait_by_choice(status, due) if due > context.now else None


def hindrance(context: ReleaseContext) -> Refusal | None:
    """The problem that keeps the shared routes from following, once this Rollout shares them; None if it may be about
    the routes of a Rollout that has just joined, which hinders no other release. `shared_side_is_empty` has its own.
    """
    routing, found = context.seen.traffic_routing, _trouble(context)
    if routing is None or found is None or _member(context) is None:
        return None
    if found.reason == reasons.SIDE_WITHOUT_ENDPOINTS:
        return None
    known = {label_value(member.rollout) for member in routing.status.members}
    newcomers = set(joined(routing)) - known
    return None if newcomers and found.reason != reasons.ROUTE_HELD else found


def shared_side_is_empty(context: ReleaseContext) -> Refusal | None:
    """The shared routes send everything to one revision, because no pod of the other is ready."""
    found = _trouble(context) if _member(context) is not None else None
    return found if found is not None and found.reason == reasons.SIDE_WITHOUT_ENDPOINTS else None


def _trouble(context: ReleaseContext) -> Refusal | None:
    """The problem in the TrafficRouting's own status, which keeps the shared routes from following."""
    routing = context.seen.traffic_routing
    conditions = routing.status.conditions if routing is not None else ()
    found = next((c for c in conditions if c.type == "Stalled" and c.status == "True"), None)
    return Refusal(found.reason, found.message) if found is not None else None


def _member(context: ReleaseContext) -> Member | None:
    routing = context.seen.traffic_routing
    name = context.seen.rollout.metadata.name
    members = routing.status.members if routing is not None else ()
    return next((member for member in members if member.rollout == name), None)


def _is_member(context: ReleaseContext, routing: TrafficRouting) -> bool:
    return _finalizer(context) in routing.metadata.finalizers


def _finalizer(context: ReleaseContext) -> str:
    return finalizer_of(context.seen.rollout.metadata.name)


def _set(routing: TrafficRouting, finalizers: tuple[str, ...]) -> SetFinalizers:
    meta = routing.metadata
    return SetFinalizers(meta.key, meta.resource_version, finalizers)
