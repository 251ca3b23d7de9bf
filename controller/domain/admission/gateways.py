"""Checks that the gateways of a Rollout have the abilities that its steps need, while its author can still see the
answer.

Invariant: only an ability that a script's `--@can` line excludes is refused. A missing script is a warning (the
ConfigMap may follow), and a script without that line promises everything. Matches that only some of several gateways
support are a warning, too: the others send less to the new version at that step, or nothing.
"""

from collections.abc import Sequence

import msgspec

from controller.api.jsontree import JsonObject, child, text
from controller.api.names import V1ALPHA1
from controller.api.rollout import BlueGreenStrategy, CanaryStrategy, Step, Strategy
from controller.api.validation.findings import Fault, FieldError, Findings
from controller.api.validation.workload import uses_extra_workload
from controller.domain.admission.verdict import in_one
from controller.domain.decision import Reference
from controller.domain.target import Traffic, target_of
from controller.domain.traffic.plan.abilities import (
    Headers,
    granted,
    left_out,
    missing_abilities,
    name_of_script,
    partial_matches,
)
from controller.domain.traffic.plan.dialects import unreadable_expressions
from controller.domain.traffic.plan.traffic_plan import references_of


class GatewayVerdict(msgspec.Struct, frozen=True):
    """The steps that a gateway does not support, and the missing scripts."""

    findings: Findings = ()
    warnings: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The findings as one text, in the API server's manner."""
        return in_one(self.findings)


def strategy_of(beta: JsonObject) -> Strategy | None:
    """The plan of a v1beta1 Rollout; None if it has none. (Parameters are kept as JSON, so the plan is converted
    through JSON.)"""
    try:
        return msgspec.json.decode(
            msgspec.json.encode(child(beta, "spec", "strategy")), type=Strategy
        )
    except msgspec.ValidationError:
        return None


def validate_gateways(written: JsonObject, beta: JsonObject, headers: Headers) -> GatewayVerdict:
    """Validate a Rollout: as its author wrote it (for the names of fields), and as v1beta1."""
    strategy = strategy_of(beta)
    style = None if strategy is None else strategy.canary or strategy.blue_green
    if strategy is None or style is None:
        return GatewayVerdict()
    plan = "canary" if strategy.canary is not None else "blueGreen"
    references = references_of(
        style.traffic_routings,
        style.disable_generate_canary_service,
        text(beta, "metadata", "namespace"),
    )
    older = text(written, "apiVersion") == V1ALPHA1
    abilities = [(item, granted(item, references, headers)) for item in references]
    findings: list[FieldError] = []
    warnings = list(missing_scripts(references, headers))
    for index, step in enumerate(style.steps):
        field = "matches" if step.matches else "weight" if older else "traffic"
        path = f"spec.strategy.{plan}.steps[{index}].{field}"
        verdict = validate_step(path, step, abilities)
        findings += verdict.findings
        warnings += verdict.warnings
        findings += check_expressions(
            f"spec.strategy.{plan}.steps[{index}]", step, references, headers
        )
    beside = plan == "blueGreen" or uses_extra_workload(child(beta, "spec"))
    unrouted = _unrouted(style, plan, replaces=not beside) if references else ()
    return GatewayVerdict(tuple(findings), (*warnings, *unrouted))


def _unrouted(
    style: CanaryStrategy | BlueGreenStrategy, plan: str, *, replaces: bool
) -> tuple[str, ...]:
    """Steps at which the share changes from a routed one to the share of pods, which may surprise the author."""
    routed = False
    found = []
    for index, step in enumerate(style.steps):
        target = target_of(style, index + 1, None, replaces=replaces)
        if routed and target.traffic is Traffic.ORIGINAL:
            found.append(
                f"spec.strategy.{plan}.steps[{index}] has neither traffic nor matches after a step that has them: the "
                "routes are restored there, and requests follow the pods of both revisions by their number; set "
                "traffic to keep a share"
            )
        routed = routed or step.routes_traffic
    return tuple(found)


def check_expressions(
    path: str, step: Step, references: tuple[Reference, ...], headers: Headers
) -> Findings:
    """Regular expressions that a gateway cannot compile, of the step whose fields are below `path`."""
    return tuple(
        FieldError(f"{path}.{place}", Fault.INVALID, problem)
        for place, problem in unreadable_expressions(step, references, headers)
    )


def validate_step(
    path: str, step: Step, abilities: Sequence[tuple[Reference, frozenset[str] | None]]
) -> GatewayVerdict:
    """The parts of a step that are not supported: an error, or a warning if another gateway object supports them."""
    findings: list[FieldError] = []
    warnings: list[str] = []
    left = left_out(step, abilities)
    parts = [(part.reference, len(part.matches)) for part in partial_matches(step, abilities)]
    for reference, can in abilities:
        missing = missing_abilities(step, reference, can)
        detail = f"{name_of_script(reference)} cannot {' or '.join(missing)}"
        first = next((number for one, number in parts if one == reference), 0)
        if missing and first:
            warnings.append(
                f"{path}: {detail}: of {len(step.matches)} matches it sends those of {first} to the new "
                "version there, and all other requests to the stable one"
            )
        elif missing and reference in left:
            warnings.append(f"{path}: {detail}: it sends nothing to the new version there")
        elif missing:
            findings.append(FieldError(path, Fault.UNSUPPORTED, detail))
    return GatewayVerdict(tuple(findings), tuple(warnings))


def missing_scripts(references: tuple[Reference, ...], headers: Headers) -> tuple[str, ...]:
    """Warnings about references whose script is missing; a namespace's own script is looked up in its ConfigMap."""
    return tuple(
        f"there is no script for {name_of_script(reference)} yet: the release will wait for one"
        for reference in references
        if reference.own_script is None and headers(reference) is None
    )
