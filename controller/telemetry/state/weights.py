"""The share of the new revision: desired by the present step, and actual, as last seen in the gateway objects.

Invariant: the actual share follows from the identity of the plan in the status; if it is not known (the objects differ,
a side's share was moved) there is no sample.
"""

from controller.api.rollout import PatchMetadata, Rollout, Step, StepState
from controller.domain.decision import RoutePlan
from controller.domain.rollout.routes.routing import marks_partial_restore
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.traffic.plan.traffic_plan import (
    announcement,
    references_of,
    route_plan,
    share_of,
)

_EVERYTHING = Step(traffic="100%")


def desired_weight(rollout: Rollout) -> float | None:
    """Percent that the present step asks for; None if no release is under way, or the step asks for no weight."""
    ours, plan = moonshift_status(rollout.status), rollout.spec.strategy.plan
    if not ours.release or plan is None or not plan.traffic_routings:
        return None
    if ours.goal or ours.state == StepState.COMPLETED or not 1 <= ours.step <= len(plan.steps):
        return None
    return share_of(plan.steps[ours.step - 1].traffic)


def actual_weight(rollout: Rollout) -> float | None:
    """Percent of requests that the gateway objects send to the new revision; None without a release."""
    ours, plan = moonshift_status(rollout.status), rollout.spec.strategy.plan
    if not ours.release or plan is None or not plan.traffic_routings:
        return None
    if not ours.route_plan or marks_partial_restore(ours.route_plan):
        return 0.0
    nearest = sorted(enumerate(plan.steps, start=1), key=lambda step: abs(step[0] - ours.step))
    for step in (*(step for _, step in nearest), _EVERYTHING):
        if step.routes_traffic and _plan_of(rollout, step).identity == ours.route_plan:
            return share_of(step.traffic)
    announced = announcement(_plan_of(rollout, Step())).identity == ours.route_plan
    return 0.0 if announced else None


def _plan_of(rollout: Rollout, step: Step) -> RoutePlan:
    plan = rollout.spec.strategy.plan
    assert plan is not None
    return route_plan(
        namespace=rollout.metadata.namespace,
        rollout=rollout.metadata.name,
        release=moonshift_status(rollout.status).release,
        references=references_of(
            plan.traffic_routings,
            plan.disable_generate_canary_service,
            rollout.metadata.namespace,
        ),
        step=step,
        pod_metadata=plan.patch_pod_template_metadata or PatchMetadata(),
        rollout_uid=rollout.metadata.uid,
    )
