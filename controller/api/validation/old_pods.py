"""Steps of partition style that leave few old pods, and most of the traffic with them.

Why: in partition style new pods replace old ones, so a plan that moves pods faster than traffic overloads the old pods:
`replicas: 80%` with `traffic: 20%` gives four times their usual load to each. Invariant: only percentages are compared,
because a Rollout does not show the size of its workload; a step without a share or matches counts only before the first
step that has one: after it, traffic follows the pods.
"""

from collections.abc import Iterator

from controller.api.jsontree import JsonObject, child, items
from controller.api.quantity import parse_percent, parse_share
from controller.api.validation.workload import uses_extra_workload

WORTH_A_WARNING = 2.0
"""Load of an old pod, as a multiple of its load before the release."""


def overloaded(spec: JsonObject) -> Iterator[str]:
    """Warnings about the steps of a canary strategy with traffic routings (v1beta1)."""
    plan = child(spec, "strategy", "canary")
    if not items(plan, "trafficRoutings") or uses_extra_workload(spec):
        return
    steps = [child(step) for step in items(plan, "steps")]
    routed = [step.get("traffic") is not None or bool(items(step, "matches")) for step in steps]
    for index, step in enumerate(steps):
        if not routed[index] and (any(routed[:index]) or not any(routed[index:])):
            continue
        new, share = parse_percent(step.get("replicas")), parse_share(step.get("traffic")) or 0.0
        if new is None or new >= 100:
            continue
        load = (100 - share) / (100 - new)
        if load >= WORTH_A_WARNING:
            yield (
                f"step {index + 1} leaves {100 - new} % of the old pods, and {100 - share:g} % of the traffic with "
                f"them: each gets {load:.1f} times its load; replace fewer pods in this step, or keep all old pods "
                "beside the new ones (enableExtraWorkloadForCanary of a Deployment)"
            )
