"""Decides about writing a TrafficRouting: its gateways must have the abilities that its strategy needs.

Why at admission: its author can still see the answer; its passes compare it with the scripts once more before a shared
route opens. Invariant: the rule is that of a Rollout's steps, with the strategy as the one step; an update that does
not change the spec, or of an object that is being deleted, always passes.
"""

import msgspec

from controller.api.jsontree import JsonObject, child, items, same, text
from controller.api.trafficrouting import TrafficRoutingSpec
from controller.api.validation.own_scripts import check_own_scripts
from controller.domain.admission.gateways import GatewayVerdict, missing_scripts, validate_step
from controller.domain.decision import Reference
from controller.domain.traffic.plan.abilities import Headers, granted
from controller.domain.traffic.plan.script_input import kind_of
from controller.domain.traffic.plan.traffic_plan import references_of


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
    if found:
        return GatewayVerdict(found)
    step = spec.strategy.as_step
    references = references_of(spec.object_ref, True, text(new, "metadata", "namespace"))
    abilities = [(item, granted(item, references, headers)) for item in references]
    path = "spec.strategy." + ("matches" if step.matches else "weight")
    verdict = validate_step(path, step, abilities)
    warnings = (*missing_scripts(references, headers), *_without_subsets(references, headers))
    return msgspec.structs.replace(verdict, warnings=(*warnings, *verdict.warnings))


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
