"""Rules of a v1alpha1 Rollout: its own fields, and the rules of v1beta1 in the words of v1alpha1."""

from itertools import pairwise

from controller.api.conversion import Unconvertible, converted
from controller.api.jsontree import JsonObject, child, items, number, text
from controller.api.names import ROLLING_STYLE, V1BETA1
from controller.api.validation.findings import Fault, FieldError, Findings
from controller.api.validation.routings import routing_entries
from controller.api.validation.rules import Rules
from controller.api.validation.spec import validate_spec
from controller.api.validation.workload import check_workload


def validate_v1alpha1(obj: JsonObject, rules: Rules) -> Findings:
    style = text(obj, "metadata", "annotations", ROLLING_STYLE)
    found: list[FieldError] = []
    if style.lower() not in ("", "canary", "partition"):
        place = f"metadata.annotations[{ROLLING_STYLE}]"
        found.append(FieldError(place, Fault.UNSUPPORTED, f"{style!r}: canary or partition"))
    canary = child(obj, "spec", "strategy", "canary")
    found += _check_aliases(canary)
    found += _check_weights(canary)
    beta = converted(obj, V1BETA1)
    if isinstance(beta, Unconvertible):
        place = "spec.objectRef.workloadRef"
        return (*found, FieldError(place, Fault.REQUIRED, "names the workload to release"))
    spec = child(beta, "spec")
    if not canary and child(spec, "strategy").get("blueGreen") is None:
        absent = FieldError("spec.strategy.canary", Fault.REQUIRED, "says how to release")
        return (*found, *check_workload(spec, rules), absent)
    # With replicas given the original never looked at the weight; 0 means no traffic.
    for error in validate_spec(spec, rules, lowest_traffic=0):
        translated = _in_v1alpha1_words(error, canary)
        # One mistake is reported once: a weight stands for the replicas as well, where those are left out.
        if translated.path not in {known.path for known in found}:
            found.append(translated)
    return tuple(found)


def _in_v1alpha1_words(error: FieldError, canary: JsonObject) -> FieldError:
    """The finding with the names that its author wrote."""
    path = error.path.replace("spec.workloadRef", "spec.objectRef.workloadRef")
    detail = error.detail.replace("enableExtraWorkloadForCanary", f"{ROLLING_STYLE}: canary")
    step, dot, field = path.rpartition(".")
    if dot and field in ("traffic", "replicas"):
        written = _step_at(step, canary)
        if field == "traffic" and written.get("traffic") is not None:
            return FieldError(path, error.kind, detail)
        if field == "traffic" or (
            written.get("replicas") is None and written.get("weight") is not None
        ):
            path = f"{step}.weight"
        elif written.get("replicas") is None:
            path, detail = step, "weight or replicas says how many new pods this step has"
    return FieldError(path, error.kind, detail)


def _step_at(path: str, canary: JsonObject) -> JsonObject:
    """The step that a path such as `spec.strategy.canary.steps[1]` names."""
    index = path.rpartition("[")[2].removesuffix("]")
    steps = items(canary, "steps")
    return child(steps[int(index)]) if index.isdecimal() and int(index) < len(steps) else {}


def _check_aliases(canary: JsonObject) -> Findings:
    found: list[FieldError] = []
    entries, path = routing_entries(canary), "spec.strategy.canary.trafficRoutings"
    values = [entry.get("createCanaryService") for entry in entries]
    given = [value for value in values if value is not None]
    if given and canary.get("disableGenerateCanaryService") is not None:
        detail = "says the same as canary.disableGenerateCanaryService; leave one of them out"
        place = f"{path}[{values.index(given[0])}].createCanaryService"
        found.append(FieldError(place, Fault.FORBIDDEN, detail))
    if given and len({value is not False for value in values}) > 1:
        detail = "must be the same in all entries (absent means true)"
        found.append(FieldError(f"{path}[*].createCanaryService", Fault.INVALID, detail))
    for index, entry in enumerate(entries):
        if entry.get("networkRefs") is not None and entry.get("customNetworkRefs") is not None:
            detail = "another name of customNetworkRefs; leave one of them out"
            found.append(FieldError(f"{path}[{index}].networkRefs", Fault.FORBIDDEN, detail))
    return tuple(found)


def _check_weights(canary: JsonObject) -> Findings:
    found: list[FieldError] = []
    path = "spec.strategy.canary.steps"
    steps = [child(step) for step in items(canary, "steps")]
    weights = [number(step, "weight") for step in steps]
    for index, (step, weight) in enumerate(zip(steps, weights, strict=True)):
        place = f"{path}[{index}].weight"
        if step.get("replicas") is None and weight is not None and not 1 <= weight <= 100:
            found.append(FieldError(place, Fault.INVALID, f"{weight}: from 1 to 100"))
    if routing_entries(canary):
        for index, (low, high) in enumerate(pairwise(weights), start=1):
            if low is not None and high is not None and high < low:
                detail = f"{high} after {low}: weights do not go down"
                found.append(FieldError(f"{path}[{index}].weight", Fault.INVALID, detail))
    return tuple(found)
