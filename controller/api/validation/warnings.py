"""Warnings about a Rollout that is accepted but will not do what its author may expect."""

from itertools import pairwise

from controller.api.advice import advice
from controller.api.conversion import Unconvertible, converted
from controller.api.idle import idle_fields
from controller.api.jsontree import JsonObject, canonical, child, items, number, text
from controller.api.names import ROLLBACK_IN_BATCH, TRAFFIC_ROUTING, V1BETA1, WORKLOAD_TYPE
from controller.api.validation.old_pods import overloaded
from controller.api.validation.routings import routing_entries, shares_service
from controller.api.validation.workload import uses_extra_workload, workload_group_kind
from controller.api.workload_kinds import KNOWN_WORKLOADS


def warnings(obj: JsonObject) -> tuple[str, ...]:
    """Warnings: the Rollout is accepted and has another effect than its author may expect."""
    beta = converted(obj, V1BETA1)
    if isinstance(beta, Unconvertible):
        return ()
    spec = child(beta, "spec")
    found = _idle_annotation(beta)
    canary = child(spec, "strategy", "canary")
    found += _idle_steps(items(canary, "steps"))
    found += overloaded(spec)
    found += _unknown_kind(spec)
    found += _pauses_below_zero(spec)
    found += idle_fields(spec, uses_extra_workload(spec))
    shared = routing_entries(canary) if shares_service(canary) else []
    found += [
        f"trafficRoutings of Service {text(entry, 'service')}: an Ingress cannot distinguish revisions "
        "that share one Service; leave disableGenerateCanaryService out"
        for entry in shared
        if child(entry, "ingress")
    ]
    return (*found, *advice(obj))


def _unknown_kind(spec: JsonObject) -> list[str]:
    """A kind that is known by the label of its object alone, which a Rollout does not show."""
    group, kind = group_kind = workload_group_kind(child(spec, "workloadRef"))
    if group_kind in KNOWN_WORKLOADS or not kind:
        return []
    word = (
        f"a {kind} of group {group} is released only where it works like a StatefulSet and carries the label "
        f"{WORKLOAD_TYPE}: statefulset"
    )
    return [word]


def _idle_annotation(beta: JsonObject) -> list[str]:
    """A rollback in batches is requested where it is not possible."""
    if text(beta, "metadata", "annotations", ROLLBACK_IN_BATCH) != "true":
        return []
    spec = child(beta, "spec")
    strategy = child(spec, "strategy")
    plan = child(strategy, "canary")
    kind = workload_group_kind(child(spec, "workloadRef"))
    shared = plan.get("trafficRoutingRef") or text(beta, "metadata", "annotations", TRAFFIC_ROUTING)
    if kind in KNOWN_WORKLOADS - _RETURN_IN_BATCHES:
        why = f"a {kind[1]} goes back at once; a StatefulSet or a CloneSet can go back in batches"
    elif strategy.get("blueGreen") is not None:
        why = "under blue-green the way back is a switch"
    elif items(plan, "trafficRoutings") or shared:
        why = "with traffic routings the traffic goes back first, and then all pods"
    else:
        return []
    return [f"the annotation {ROLLBACK_IN_BATCH} has no effect here: {why}"]


def _pauses_below_zero(spec: JsonObject) -> list[str]:
    """Pauses that the original's schema lets pass, and that end before they begin."""
    plans = (child(spec, "strategy", name) for name in ("canary", "blueGreen"))
    return [
        f"step {index} has a pause of {length} seconds, which is none; leave duration out to wait for an approval"
        for plan in plans
        for index, step in enumerate(items(plan, "steps"), start=1)
        if (length := number(child(child(step), "pause"), "duration") or 0) < 0
    ]


def _idle_steps(steps: list[object]) -> list[str]:
    """Steps that add no pod to the one before and lead no other traffic: counts are cumulative."""
    found = []
    for index, (before, after) in enumerate(pairwise(map(child, steps)), start=2):
        same_pods = before.get("replicas") == after.get("replicas")
        routed = [(step.get("traffic"), step.get("matches")) for step in (before, after)]
        if same_pods and canonical(routed[0]) == canonical(routed[1]):
            found.append(
                f"step {index} adds no pod: replicas are counted from the start of the release, and step "
                f"{index - 1} has {after.get('replicas')} already"
            )
    return found


_RETURN_IN_BATCHES = {
    ("apps", "StatefulSet"),
    ("apps.kruise.io", "StatefulSet"),
    ("apps.kruise.io", "CloneSet"),
}
