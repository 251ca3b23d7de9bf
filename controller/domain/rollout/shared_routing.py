"""A Rollout and the TrafficRouting it shares with others: joining, waiting for its lane, leaving.

Invariant: the lane is open before a step waits for people, and shut, for the grace period, before a pod it leads to is
taken away. Who names a TrafficRouting that does not exist waits, before anything is moved.
"""

from controller.api import names
from controller.api.rollout import Rollout, RolloutStatus
from controller.api.trafficrouting import PROGRESSING_FINALIZER_PREFIX, Member, TrafficRouting
from controller.domain import reasons
from controller.domain.decision import Refusal, SetFinalizers
from controller.domain.rollout.situation import Situation
from controller.domain.rollout.turn import Stop
from controller.domain.trafficrouting import grace_of, joined


def shared_routing_of(rollout: Rollout) -> str:
    """The TrafficRouting a Rollout names, by field or (as in v1alpha1) by annotation; empty when none."""
    strategy = rollout.spec.strategy.canary or rollout.spec.strategy.blue_green
    named = strategy.traffic_routing_ref if strategy is not None else ""
    return named or rollout.metadata.annotations.get(names.TRAFFIC_ROUTING, "")


def join(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Be a member before the first pod is made; None when that is so, or nothing is shared."""
    name = shared_routing_of(sit.seen.rollout)
    if not name:
        return None
    routing = sit.seen.traffic_routing
    if routing is None or routing.metadata.deleting:
        what = "does not exist" if routing is None else "is being deleted"
        named = f"TrafficRouting {sit.namespace}/{name}"
        problem = Refusal(
            reasons.TRAFFIC_ROUTING_NOT_FOUND,
            f"{named} {what}: create it, or correct strategy.canary.trafficRoutingRef",
            object=named,
        )
        return Stop(status, problem=problem)
    if _is_member(sit, routing):
        return None
    finalizers = (*routing.metadata.finalizers, _finalizer(sit))
    return Stop(status, (_set(routing, finalizers),))


def lane_is_shut(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Wait until the shared routes lead to the new pods; None when they do, or nothing is shared."""
    if not shared_routing_of(sit.seen.rollout):
        return None
    member = _member(sit)
    if member is not None and member.routed:
        return None
    return join(sit, status) or Stop(status, problem=_trouble(sit))


def leave(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Take our finalizer off, then wait until nothing has led to our pods for the grace period."""
    routing = sit.seen.traffic_routing
    if routing is None:
        return None
    if _is_member(sit, routing):
        others = tuple(f for f in routing.metadata.finalizers if f != _finalizer(sit))
        return Stop(status, (_set(routing, others),))
    member = _member(sit)
    if member is None:
        return None
    if member.routed:
        return Stop(status, problem=_trouble(sit))
    due = (member.since or sit.now) + grace_of(routing)
    return Stop(status, wake_at=due) if due > sit.now else None


def shared_side_is_empty(sit: Situation) -> Refusal | None:
    """The shared routes give everything to one revision, because no pod of the other is ready."""
    found = _trouble(sit) if _member(sit) is not None else None
    return found if found is not None and found.reason == reasons.SIDE_WITHOUT_ENDPOINTS else None


def _trouble(sit: Situation) -> Refusal | None:
    """Why the shared routes cannot follow, in the TrafficRouting's own words."""
    routing = sit.seen.traffic_routing
    conditions = routing.status.conditions if routing is not None else ()
    found = next((c for c in conditions if c.type == "Stalled" and c.status == "True"), None)
    return Refusal(found.reason, found.message) if found is not None else None


def _member(sit: Situation) -> Member | None:
    routing = sit.seen.traffic_routing
    name = sit.seen.rollout.metadata.name
    members = routing.status.members if routing is not None else ()
    return next((member for member in members if member.rollout == name), None)


def _is_member(sit: Situation, routing: TrafficRouting) -> bool:
    return sit.seen.rollout.metadata.name in joined(routing)


def _finalizer(sit: Situation) -> str:
    return PROGRESSING_FINALIZER_PREFIX + sit.seen.rollout.metadata.name


def _set(routing: TrafficRouting, finalizers: tuple[str, ...]) -> SetFinalizers:
    meta = routing.metadata
    return SetFinalizers(meta.key, meta.resource_version, finalizers)
