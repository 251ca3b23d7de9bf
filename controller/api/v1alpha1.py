"""The Rollout in its older version: the name of each field there, in both directions.

The conversion works on a *tree*: the spec, and the annotations that represent in one version a field of the other.
Invariant: both directions accept every tree; a value without a place in the target is dropped here and kept by
`controller.api.conversion`. Two more spellings are understood, because published manifests use them:
`createCanaryService` (inverted) and `networkRefs` inside an entry of `trafficRoutings`.
"""

import math
from collections.abc import Callable

from controller.api.jsontree import JsonObject, child, items, text
from controller.api.names import REQUESTED_ROLLOUT_ID, ROLLING_STYLE, TRAFFIC_ROUTING
from controller.api.quantity import parse_share

CARRIERS = (ROLLING_STYLE, TRAFFIC_ROUTING, REQUESTED_ROLLOUT_ID)
"""Annotations that represent in one version a field of the other."""

_BETA_ONLY_MATCH = ("path", "queryParams", "method")
_BETA_ONLY_REFERENCE = ("script", "scriptRef", "params")


def upgraded(tree: JsonObject) -> JsonObject:
    """A v1alpha1 tree in the words of v1beta1."""
    annotations = dict(child(tree, "annotations"))
    spec = dict(child(tree, "spec"))
    reference = child(spec.pop("objectRef", None), "workloadRef")
    if reference:
        spec["workloadRef"] = reference
    rollout_id = spec.pop("rolloutID", None)
    if isinstance(rollout_id, str) and rollout_id:
        annotations[REQUESTED_ROLLOUT_ID] = rollout_id
    strategy = dict(child(spec, "strategy"))
    if isinstance(strategy.get("canary"), dict):
        canary = _upgraded_canary(child(strategy, "canary"))
        if text(annotations, ROLLING_STYLE).lower() != "partition":
            canary["enableExtraWorkloadForCanary"] = True
        if text(annotations, TRAFFIC_ROUTING):
            canary["trafficRoutingRef"] = annotations[TRAFFIC_ROUTING]
        strategy["canary"] = canary
    if isinstance(spec.get("strategy"), dict):
        spec["strategy"] = strategy
    return {"annotations": annotations, "spec": spec}


def _upgraded_canary(old: JsonObject) -> JsonObject:
    canary = _with_list(old, "steps", _upgraded_step)
    entries = items(old, "trafficRoutings")
    if any(child(entry).get("createCanaryService") is False for entry in entries):
        canary["disableGenerateCanaryService"] = True
    return _with_list(canary, "trafficRoutings", _upgraded_routing)


def _upgraded_step(old: JsonObject) -> JsonObject:
    step = dict(old)
    weight = step.get("weight")
    if isinstance(weight, int) and not isinstance(weight, bool):
        del step["weight"]
        step["traffic"] = f"{weight}%"
        if step.get("replicas") is None:
            step["replicas"] = f"{weight}%"
    return step


def _upgraded_routing(old: JsonObject) -> JsonObject:
    entry = dict(old)
    entry.pop("createCanaryService", None)
    references = entry.pop("networkRefs", None)
    if references is not None:
        entry.setdefault("customNetworkRefs", references)
    return entry


def downgraded(tree: JsonObject) -> JsonObject:
    """A v1beta1 tree with the fields of v1alpha1, without parts that v1alpha1 lacks (such as blue-green)."""
    annotations = dict(child(tree, "annotations"))
    spec = dict(child(tree, "spec"))
    reference = spec.pop("workloadRef", None)
    spec["objectRef"] = {} if reference is None else {"workloadRef": reference}
    rollout_id = annotations.pop(REQUESTED_ROLLOUT_ID, None)
    if rollout_id is not None:
        spec["rolloutID"] = rollout_id
    strategy = dict(child(spec, "strategy"))
    strategy.pop("blueGreen", None)
    if isinstance(strategy.get("canary"), dict):
        canary = dict(child(strategy, "canary"))
        extra = canary.pop("enableExtraWorkloadForCanary", None) is True
        annotations[ROLLING_STYLE] = "canary" if extra else "partition"
        shared = canary.pop("trafficRoutingRef", None)
        if isinstance(shared, str) and shared:
            annotations[TRAFFIC_ROUTING] = shared
        canary = _with_list(canary, "steps", _downgraded_step)
        strategy["canary"] = _with_list(canary, "trafficRoutings", _downgraded_routing)
    if isinstance(spec.get("strategy"), dict):
        spec["strategy"] = strategy
    return {"annotations": annotations, "spec": spec}


def _downgraded_step(old: JsonObject) -> JsonObject:
    step = dict(old)
    share = parse_share(step.pop("traffic", None))
    if share is not None:
        # Whole numbers only, and something never becomes nothing; the exact share is kept beside.
        step["weight"] = math.ceil(share)
    return _with_list(step, "matches", lambda match: _without(match, _BETA_ONLY_MATCH))


def _downgraded_routing(old: JsonObject) -> JsonObject:
    entry = dict(old)
    for name in ("ingress", "gateway"):
        if isinstance(entry.get(name), dict):
            entry[name] = _without(child(entry, name), _BETA_ONLY_REFERENCE)
    return _with_list(
        entry, "customNetworkRefs", lambda reference: _without(reference, _BETA_ONLY_REFERENCE)
    )


def _without(tree: JsonObject, names: tuple[str, ...]) -> JsonObject:
    return {name: value for name, value in tree.items() if name not in names}


def _with_list(
    tree: JsonObject, name: str, change: Callable[[JsonObject], JsonObject]
) -> JsonObject:
    """A copy of `tree` whose list `name`, if it is one, has every object in it changed."""
    copy = dict(tree)
    entries = copy.get(name)
    if isinstance(entries, list):
        copy[name] = [change(entry) if isinstance(entry, dict) else entry for entry in entries]
    return copy
