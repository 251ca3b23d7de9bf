"""What the effects do to gateway objects, done to the simulated cluster.

Invariant: an object that follows another owner is left alone; one that does not exist is refused, as by the real
effect.
"""

from typing import assert_never

from msgspec import structs

from controller.domain import reasons
from controller.domain.decision import (
    Done,
    EnsureRoutes,
    Outcome,
    Refusal,
    RehearseRoutes,
    RestoreRoutes,
    SetFinalizers,
)
from controller.errors import Conflict
from controller.simulation.cluster import Cluster


def lead_routes(cluster: Cluster, action: EnsureRoutes | RehearseRoutes | RestoreRoutes) -> Outcome:
    """Gateway objects follow the plan, or are what they were."""
    match action:
        case EnsureRoutes(plan=plan):
            for reference in plan.references:
                route = cluster.route(plan.namespace, reference)
                if plan.announces and (route is None or not route.announces):
                    continue
                if route is None:
                    return Refusal(reasons.GATEWAY_OBJECT_NOT_FOUND, f"{reference} is missing")
                led = structs.replace(route, plan=plan, touched=False)
                cluster.put_route(plan.namespace, reference.kind, reference.name, led)
        case RehearseRoutes(plan=plan):
            absent = [ref for ref in plan.references if cluster.route(plan.namespace, ref) is None]
            if absent:
                return Refusal(reasons.GATEWAY_OBJECT_NOT_FOUND, f"{absent[0]} is missing")
            return Done()
        case RestoreRoutes(namespace=namespace, references=references, rollout=rollout):
            for reference in reversed(references):
                route = cluster.route(namespace, reference)
                if route is None or route.plan is None or route.plan.rollout != rollout:
                    continue
                free = structs.replace(route, plan=None, touched=False)
                cluster.put_route(namespace, reference.kind, reference.name, free)
        case _:
            assert_never(action)
    return Done(wrote=True)


def set_finalizers(cluster: Cluster, action: SetFinalizers) -> Done:
    """The TrafficRouting carries these finalizers, over the version that was looked at."""
    routing = cluster.traffic_routings.get(action.traffic_routing)
    if routing is None:
        return Done(wrote=True)
    meta = routing.metadata
    if meta.resource_version != action.resource_version:
        raise Conflict("the TrafficRouting has changed", status=409)
    changed = structs.replace(meta, finalizers=action.finalizers)
    cluster.traffic_routings.put(structs.replace(routing, metadata=changed))
    return Done(wrote=True)
