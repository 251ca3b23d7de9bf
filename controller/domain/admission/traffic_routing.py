"""Decides about writing a TrafficRouting: its gateways must have the abilities that its strategy needs.

Why at admission: its author can still see the answer; its passes compare it with the scripts once more before a shared
route opens. An object that follows its routes may not be taken out of it: nobody would restore that object.
Invariant: the rule is that of a Rollout's steps, with the strategy as the one step; an update that does not change the
spec, or of an object that is being deleted, always passes.
"""

import msgspec

from controller.api.jsontree import JsonObject, child, items, same, text
from controller.api.trafficrouting import TrafficRoutingSpec
from controller.api.validation.findings import Fault, FieldError, Findings
from controller.api.validation.own_scripts import check_own_scripts
from controller.domain.admission.gateways import (
    GatewayVerdict,
    check_expressions,
    missing_scripts,
    validate_step,
)
from controller.domain.availability import NotServed
from controller.domain.decision import Reference
from controller.domain.reasons import GATEWAY_OBJECT_NOT_FOUND
from controller.domain.traffic.plan.abilities import Headers, granted
from controller.domain.traffic.plan.script_input import kind_of
from controller.domain.traffic.plan.traffic_plan import references_of
from controller.domain.trafficrouting.seen import name_in_status

_TO_BE_CORRECTED = (GATEWAY_OBJECT_NOT_FOUND, NotServed.reason)


def admit_traffic_routing(
    old: JsonObject | None, new: JsonObject, headers: Headers
) -> GatewayVerdict:
    """Validate a TrafficRouting (raw JSON); `headers` are those of the existing scripts."""
    going = child(new, "metadata").get("deletionTimestamp") is not None
    if going or (old is not None and same(old.get("spec"), new.get("spec"))):
        return GatewayVerdict()
    try:
        encoded = msgspec.json.encode(child(new, "spec"))
        spec = msgspec.json.decode(encoded, type=TrafficRoutingSpec)
    except msgspec.ValidationError:
        # The CRD's schema reports the error.
        return GatewayVerdict()
    entries = map(child, items(child(new, "spec"), "objectRef"))
    found = tuple(
        finding
        for index, entry in enumerate(entries)
        for finding in check_own_scripts(entry, f"spec.objectRef[{index}]")
    )
    namespace = text(new, "metadata", "namespace")
    references = references_of(spec.object_ref, True, namespace)
    found += _unrestored(old or {}, references)
    if found:
        return GatewayVerdict(found)
    step = spec.strategy.as_step
    abilities = [(item, granted(item, references, headers)) for item in references]
    path = "spec.strategy." + ("matches" if step.matches else "weight")
    verdict = validate_step(path, step, abilities)
    warnings = (*missing_scripts(references, headers), *_without_subsets(references, headers))
    findings = (
        *verdict.findings,
        *check_expressions("spec.strategy", step, references, headers),
    )
    return GatewayVerdict(findings, (*warnings, *verdict.warnings))


def _unrestored(old: JsonObject, references: tuple[Reference, ...]) -> Findings:
    """Objects that follow shared routes now, or wait to be restored, and that are named no more.

    If an object, or its kind, does not exist, its author is asked to correct the reference, so that passes.
    """
    status = child(old, "status")
    if any(
        each.get("reason") in _TO_BE_CORRECTED for each in map(child, items(status, "conditions"))
    ):
        return ()
    in_use = [name for name in items(status, "written") if isinstance(name, str)]
    if status.get("descent") is not None:
        in_use += map(name_in_status, _references_before(old))
    lost = sorted({*in_use} - {*map(name_in_status, references)})
    if not lost:
        return ()
    detail = (
        f"{', '.join(lost)} has the content of a shared route, and nobody would restore it: wait until no Rollout that "
        "shares it is in a release"
    )
    return (FieldError("spec.objectRef", Fault.FORBIDDEN, detail),)


def _references_before(old: JsonObject) -> tuple[Reference, ...]:
    try:
        encoded = msgspec.json.encode(child(old, "spec"))
        return references_of(msgspec.json.decode(encoded, type=TrafficRoutingSpec).object_ref, True)
    except msgspec.ValidationError:
        return ()


def _without_subsets(references: tuple[Reference, ...], headers: Headers) -> tuple[str, ...]:
    """Warnings about objects that lead to a subset which another kind of object defines, and none of it is named.

    Members share a Service, so a subset alone tells their versions apart; Istio answers 503 for an undefined one.
    """
    named = {(kind_of(item), item.stable_service) for item in references}
    return tuple(
        f"{item} leads to the new version by a subset of Service {item.stable_service} that a {kind.kind} defines, and "
        "none is named beside it: name it, or make sure that it has the subset"
        for item in references
        if (header := headers(item)) is not None
        for kind in header.after
        if (kind, item.stable_service) not in named
    )
