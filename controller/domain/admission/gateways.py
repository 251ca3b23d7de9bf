"""Can the gateways of a Rollout say what its steps ask of them: asked while its author is still there to hear it.

Invariant: only what a script's `--@can` line denies is refused; a script that is not there yet is a warning (the
ConfigMap may follow), and one without that line promises everything. Matches that only some of several gateways can say
are a warning, too: the others send the new version nothing at that step.
"""

import msgspec

from controller.api.jsontree import JsonObject, child, text
from controller.api.names import V1ALPHA1
from controller.api.rollout import BlueGreenStrategy, CanaryStrategy, Strategy
from controller.api.validation import Fault, FieldError, Findings
from controller.domain.decision import Reference
from controller.domain.traffic.abilities import (
    Headers,
    granted,
    left_out,
    name_of_script,
    unsayable,
)
from controller.domain.traffic.plan import references_of


class GatewayVerdict(msgspec.Struct, frozen=True):
    """What the steps ask that cannot be said, and which scripts are not there."""

    findings: Findings = ()
    warnings: tuple[str, ...] = ()


def strategy_of(beta: JsonObject) -> Strategy | None:
    """The plan of a v1beta1 Rollout; None where it is none. (Parameters are kept as JSON, so by way of JSON.)"""
    try:
        return msgspec.json.decode(
            msgspec.json.encode(child(beta, "spec", "strategy")), type=Strategy
        )
    except msgspec.ValidationError:
        return None


def judge_gateways(written: JsonObject, beta: JsonObject, headers: Headers) -> GatewayVerdict:
    """Judge a Rollout: as its author wrote it (for the names of fields), and as v1beta1."""
    strategy = strategy_of(beta)
    style = None if strategy is None else strategy.canary or strategy.blue_green
    if strategy is None or style is None:
        return GatewayVerdict()
    plan = "canary" if strategy.canary is not None else "blueGreen"
    references = references_of(style.traffic_routings, style.disable_generate_canary_service)
    older = text(written, "apiVersion") == V1ALPHA1
    abilities = [(item, granted(item, references, headers)) for item in references]
    findings: list[FieldError] = []
    warnings = list(_missing(references, headers))
    for index, step in enumerate(style.steps):
        field = "matches" if step.matches else "weight" if older else "traffic"
        path = f"spec.strategy.{plan}.steps[{index}].{field}"
        left = left_out(step, abilities)
        for reference, can in abilities:
            missing = unsayable(step, reference, can)
            detail = f"{name_of_script(reference)} cannot {' or '.join(missing)}"
            if missing and reference in left:
                warnings.append(f"{path}: {detail}: it sends nothing to the new version there")
            elif missing:
                findings.append(FieldError(path, Fault.UNSUPPORTED, detail))
    unrouted = _unrouted(style, plan) if references else ()
    return GatewayVerdict(tuple(findings), (*warnings, *unrouted))


def _unrouted(style: CanaryStrategy | BlueGreenStrategy, plan: str) -> tuple[str, ...]:
    """Steps at which the share changes from a routed one to that of the pods, which may surprise their author."""
    beside = isinstance(style, BlueGreenStrategy) or style.enable_extra_workload_for_canary
    routed = False
    found = []
    for index, step in enumerate(style.steps):
        takes_all = not beside and step.replicas == "100%"
        if routed and not step.routes_traffic and not takes_all:
            found.append(
                f"spec.strategy.{plan}.steps[{index}] says neither traffic nor matches after a step that does: the "
                "routes are given back there, and requests follow the pods of both revisions by their number; say "
                "traffic to keep a share"
            )
        routed = routed or step.routes_traffic
    return tuple(found)


def _missing(references: tuple[Reference, ...], headers: Headers) -> tuple[str, ...]:
    return tuple(
        f"there is no script for {name_of_script(reference)} yet: the release will wait for one"
        for reference in references
        if headers(reference) is None
    )
