"""The plans of the gateway objects behind the open shared routes.

Invariant: all members agree on the labels of their new pods before there is a plan that names them.
"""

from controller.api.rollout import PatchMetadata, Rollout
from controller.domain.decision import (
    RoutePlan,
)
from controller.domain.sides import Side, SideRevision, Sides, is_led_away
from controller.domain.traffic.plan.traffic_plan import all_to_new, references_of, route_plan
from controller.domain.trafficrouting.seen import TrafficRoutingSeen, owner_of


def plans_of(
    seen: TrafficRoutingSeen, open_routes: tuple[str, ...], sides: Sides
) -> tuple[RoutePlan, ...]:
    """The plans of the gateway objects: all requests go to the new revision if the stable one has no ready pod."""
    whole = tuple(
        route for route in open_routes if is_led_away(sides, Side(SideRevision.STABLE, route))
    )
    divided = tuple(route for route in open_routes if route not in whole)
    plans = (plan_of(seen, divided),)
    return (*plans, all_to_new(plan_of(seen, whole))) if whole else plans


def plan_of(seen: TrafficRoutingSeen, services: tuple[str, ...]) -> RoutePlan:
    """The plan of the gateway objects of these Services."""
    spec, namespace = seen.routing.spec, seen.routing.metadata.namespace
    entries = tuple(entry for entry in spec.object_ref if entry.service in services)
    return route_plan(
        namespace=namespace,
        rollout=owner_of(seen.routing),
        release=owner_of(seen.routing),
        references=references_of(entries, True, namespace),
        step=spec.strategy.as_step,
        pod_metadata=common_metadata(seen) or PatchMetadata(),
        rollout_uid=seen.routing.metadata.uid,
        others=references_of(spec.object_ref, True, namespace),
        stable_labels=_stable_labels(seen),
    )


def _stable_labels(seen: TrafficRoutingSeen) -> dict[str, str] | None:
    """Labels of the stable pods, if there is one member: those of several may belong to different subsets."""
    if len(seen.members) != 1:
        return None
    new = {pod.metadata.uid for pod in seen.members[0].new_pods}
    stable = (pod for pod in seen.members[0].pods if pod.metadata.uid not in new)
    return next((pod.metadata.labels for pod in stable), None)


def common_metadata(seen: TrafficRoutingSeen) -> PatchMetadata | None:
    """Labels and annotations that all members give their new pods; None if they differ."""
    given = [_metadata_of(member.rollout) for member in seen.members]
    if not given:
        return PatchMetadata()
    return given[0] if all(each == given[0] for each in given) else None


def _metadata_of(rollout: Rollout) -> PatchMetadata:
    plan = rollout.spec.strategy.plan
    patch = plan.patch_pod_template_metadata if plan is not None else None
    return patch or PatchMetadata()
