"""Hash of a release plan, in the original's formula, so that a release that is taken over does not count as replanned.

The formula: the strategy without `failureThreshold` and with every `pause` emptied, as compact JSON in a fixed order of
fields, empty ones left out, `<`, `>`, `&` escaped; SHA-256; each hex digit mapped to a letter that names may have.
Invariant: fields that only Moonshift knows come after the original's and only when set, so they change nothing for
plans without them. Pauses and thresholds may therefore be edited during a release without a new plan.
"""

import hashlib

import msgspec

from controller.api.jsontree import JsonObject, as_go_writes, child, items
from controller.api.rollout import Strategy

_SAFE = "bcdfghjklmnpqrstvwxz2456789"


_SCRIPT_REF = ("name", "key", "serviceAccountName")


def plan_hash(strategy: JsonObject) -> str:
    """Hash of `spec.strategy` of a v1beta1 Rollout (raw JSON); empty if there is no plan."""
    canary, blue_green = child(strategy, "canary"), child(strategy, "blueGreen")
    if not canary and not blue_green:
        return ""
    plan = _blue_green(blue_green) if blue_green else _canary(canary)
    text = as_go_writes(msgspec.json.encode(plan).decode())
    digest = hashlib.sha256(text.encode()).hexdigest()
    return "".join(_SAFE[ord(digit) % len(_SAFE)] for digit in digest)


def plan_hash_of(strategy: Strategy) -> str:
    """Hash of a decoded strategy; empty if there is no plan."""
    return plan_hash(msgspec.json.decode(msgspec.json.encode(strategy)))


def _canary(canary: JsonObject) -> JsonObject:
    metadata = canary.get("patchPodTemplateMetadata")
    return _filled(
        steps=[_step(step) for step in items(canary, "steps")],
        trafficRoutings=[_routing(entry) for entry in items(canary, "trafficRoutings")],
        patchPodTemplateMetadata=_pod_metadata(metadata),
        enableExtraWorkloadForCanary=canary.get("enableExtraWorkloadForCanary"),
        trafficRoutingRef=canary.get("trafficRoutingRef"),
        disableGenerateCanaryService=canary.get("disableGenerateCanaryService"),
    )


def _blue_green(blue_green: JsonObject) -> JsonObject:
    return _filled(
        steps=[_step(step) for step in items(blue_green, "steps")],
        trafficRoutings=[_routing(entry) for entry in items(blue_green, "trafficRoutings")],
        trafficRoutingRef=blue_green.get("trafficRoutingRef"),
        disableGenerateCanaryService=blue_green.get("disableGenerateCanaryService"),
    )


def _filled(**fields: object) -> JsonObject:
    """The fields that Go's `omitempty` would print, in the order given."""
    return {name: value for name, value in fields.items() if value not in (None, "", False, [])}


def _present(**fields: object) -> JsonObject:
    """The fields that are present: Go prints a pointer's field if the pointer is set, also to zero."""
    return {name: value for name, value in fields.items() if value is not None}


def _pod_metadata(metadata: object) -> JsonObject | None:
    if not isinstance(metadata, dict):
        return None
    maps = {name: child(metadata, name) for name in ("annotations", "labels")}
    return {name: dict(sorted(entries.items())) for name, entries in maps.items() if entries}


def _step(step: object) -> JsonObject:
    fields = child(step)
    return {
        **_present(
            traffic=fields.get("traffic"),
            requestHeaderModifier=_modifier(fields.get("requestHeaderModifier")),
        ),
        **_filled(matches=[_match(match) for match in items(fields, "matches")]),
        **_present(replicas=fields.get("replicas")),
        "pause": {},
    }


def _modifier(modifier: object) -> JsonObject | None:
    if not isinstance(modifier, dict):
        return None
    return _filled(
        set=[_ordered(header, "name", "value") for header in items(modifier, "set")],
        add=[_ordered(header, "name", "value") for header in items(modifier, "add")],
        remove=items(modifier, "remove"),
    )


def _match(match: object) -> JsonObject:
    fields = child(match)
    path = fields.get("path")
    return {
        **_present(path=_ordered(path, "type", "value") if isinstance(path, dict) else None),
        **_filled(
            headers=[
                _ordered(entry, "type", "name", "value") for entry in items(fields, "headers")
            ],
            queryParams=[
                _ordered(entry, "type", "name", "value") for entry in items(fields, "queryParams")
            ],
            method=fields.get("method"),
        ),
    }


def _routing(entry: object) -> JsonObject:
    fields = child(entry)
    ingress, gateway = fields.get("ingress"), fields.get("gateway")
    return {
        "service": fields.get("service", ""),
        # The API server fills in 3; a decoded entry leaves its default out.
        **_without_zero(gracePeriodSeconds=fields.get("gracePeriodSeconds", 3)),
        **_present(
            ingress=_reference(ingress, "classType", "name") if isinstance(ingress, dict) else None,
            gateway=_reference(gateway, "httpRouteName") if isinstance(gateway, dict) else None,
        ),
        **_filled(
            customNetworkRefs=[
                _reference(reference, "apiVersion", "kind", "name")
                for reference in items(fields, "customNetworkRefs")
            ]
        ),
    }


def _reference(reference: object, *names: str) -> JsonObject:
    fields = child(reference)
    parameters = child(fields, "params")
    return {
        **_ordered(reference, *names),
        **_filled(script=fields.get("script")),
        **_present(scriptRef=_ordered(fields.get("scriptRef"), *_SCRIPT_REF) or None),
        **_present(params=dict(sorted(parameters.items())) if parameters else None),
    }


def _without_zero(**fields: object) -> JsonObject:
    return {name: value for name, value in fields.items() if value != 0}


def _ordered(tree: object, *names: str) -> JsonObject:
    """The named fields of `tree` that are there and not empty, in this order."""
    fields = child(tree)
    return {name: fields[name] for name in names if fields.get(name) not in (None, "")}
