"""Fields of a Rollout that are accepted and have no effect where they stand.

Why: a field without effect misleads its author. The original accepts its own fields without effect, so
admission warns about them; a field of Moonshift without effect is refused. Must not repeat the schema or validation.
"""

from controller.api.jsontree import JsonObject, child, items


def idle_fields(spec: JsonObject, extra_workload: bool) -> list[str]:
    """The fields of a strategy (v1beta1) that have no effect in it."""
    canary = child(spec, "strategy", "canary")
    found: list[str] = []
    if canary.get("enableExtraWorkloadForCanary") is True and not extra_workload:
        found.append(
            "enableExtraWorkloadForCanary has no effect here: only a Deployment is released with an extra workload, "
            "others batch by batch"
        )
    routed = items(canary, "trafficRoutings") or canary.get("trafficRoutingRef")
    if canary.get("patchPodTemplateMetadata") and not extra_workload and not routed:
        found.append(
            "patchPodTemplateMetadata has no effect here: only pods of an extra Deployment get it; set "
            "enableExtraWorkloadForCanary, or change the workload's own template"
        )
    return found + _idle_modifiers(spec)


def _idle_modifiers(spec: JsonObject) -> list[str]:
    """Headers are changed only for requests of the new revision: a step has to send some there."""
    plans = (child(spec, "strategy", name) for name in ("canary", "blueGreen"))
    return [
        f"requestHeaderModifier of step {index} has no effect: the step has neither traffic nor matches"
        for plan in plans
        for index, step in enumerate(map(child, items(plan, "steps")), start=1)
        if step.get("requestHeaderModifier") and not (step.get("traffic") or step.get("matches"))
    ]
