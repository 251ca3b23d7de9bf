"""Decides about writing a Rollout: field rules, one Rollout per workload, and fields that must not change
during a release.

Invariant: an update that changes nothing a verdict depends on, or of an object that is being deleted, always passes. So
a Rollout that became invalid in another way can still be reconciled, repaired and removed.
"""

from collections.abc import Iterable

import msgspec

from controller.api.conversion import Unconvertible, converted
from controller.api.jsontree import JsonObject, canonical, child, items, number, text
from controller.api.names import ROLLING_STYLE, TRACK_CONFIG, TRAFFIC_ROUTING, V1ALPHA1, V1BETA1
from controller.api.rollout import BUSY_PHASES, Phase, Rollout, WorkloadRef
from controller.api.validation import validate
from controller.api.validation.findings import Fault, FieldError, Findings
from controller.api.validation.rules import DEFAULT_RULES, Rules
from controller.api.validation.warnings import warnings
from controller.api.validation.workload import uses_extra_workload
from controller.domain import reasons
from controller.domain.admission.checks import (
    AskingHeaders,
    checks_without_script,
    mistaken_checks,
)
from controller.domain.admission.gate_arguments import misplaced_arguments
from controller.domain.admission.gate_mistakes import gate_mistakes
from controller.domain.admission.gateways import GatewayVerdict, validate_gateways
from controller.domain.admission.named import Named, named_in, workload_path
from controller.domain.admission.verdict import in_one
from controller.domain.config.seen import TRACKING_IS_OFF
from controller.domain.traffic.plan.abilities import Headers


class RolloutVerdict(msgspec.Struct, frozen=True):
    """Findings refuse the request, warnings are shown to its author. `named` are the objects that the Rollout names, to
    be looked up for further warnings; empty if there are findings.
    """

    findings: Findings = ()
    warnings: tuple[str, ...] = ()
    named: tuple[Named, ...] = ()

    @property
    def message(self) -> str:
        """The findings as one text, in the API server's manner."""
        return in_one(self.findings)


def admit_rollout(
    old: JsonObject | None,
    new: JsonObject,
    others: Iterable[Rollout],
    rules: Rules = DEFAULT_RULES,
    headers: Headers | None = None,
    asking: AskingHeaders | None = None,
) -> RolloutVerdict:
    """Validate a Rollout (raw JSON of either version); `others` are the Rollouts of its namespace.

    `headers` are those of the existing scripts, `asking` those of scripts that ask; without them the abilities of
    gateways, and what checks are given, are not checked.
    """
    if child(new, "metadata").get("deletionTimestamp") is not None:
        return RolloutVerdict()
    advice = _advice(new, rules)
    if old is not None and _judged(old) == _judged(new):
        known = set(_advice(old, rules))
        return RolloutVerdict(warnings=tuple(text for text in advice if text not in known))
    findings = validate(new, rules)
    beta = converted(new, V1BETA1)
    if not isinstance(beta, Unconvertible):
        findings += _conflicts(beta, others, workload_path(new))
        findings += mistaken_checks(beta, asking) if asking is not None else ()
        if old is not None:
            findings += _frozen(old, beta, new)
        if not findings:
            advice += checks_without_script(beta, asking) if asking is not None else ()
            return _with_gateways(new, beta, headers, advice)
    return RolloutVerdict(findings, advice)


def _with_gateways(
    new: JsonObject, beta: JsonObject, headers: Headers | None, advice: tuple[str, ...]
) -> RolloutVerdict:
    """The verdict about a Rollout whose fields are valid."""
    verdict = GatewayVerdict() if headers is None else validate_gateways(new, beta, headers)
    named = () if verdict.findings else named_in(new, beta, headers)
    return RolloutVerdict(verdict.findings, (*advice, *verdict.warnings), named)


def _advice(obj: JsonObject, rules: Rules) -> tuple[str, ...]:
    mistakes = (*misplaced_arguments(obj), *gate_mistakes(obj))
    return (*warnings(obj), *mistakes, *_of_tracking(obj, rules))


def _of_tracking(new: JsonObject, rules: Rules) -> tuple[str, ...]:
    """The annotation asks for tracking that this controller does not do, or has an unknown value."""
    asked = text(new, "metadata", "annotations", TRACK_CONFIG)
    if asked not in ("", "true", "false"):
        return (
            f"annotation {TRACK_CONFIG}: {asked!r} is neither true nor false: nothing is tracked",
        )
    return (TRACKING_IS_OFF,) if asked == "true" and not rules.tracks_config else ()


def _judged(obj: JsonObject) -> bytes:
    """Everything a verdict depends on."""
    beta = converted(obj, V1BETA1)
    spec = None if isinstance(beta, Unconvertible) else beta.get("spec")
    style = text(obj, "metadata", "annotations", ROLLING_STYLE)
    tracking = text(obj, "metadata", "annotations", TRACK_CONFIG)
    shared = text(obj, "metadata", "annotations", TRAFFIC_ROUTING)
    return canonical([obj.get("spec"), spec, style, tracking, shared])


def identity(reference: WorkloadRef) -> tuple[str, str, str]:
    """Group, kind and name, which identify a workload. (The original compares the version too, and misses clashes.)"""
    return (reference.group, reference.kind, reference.name)


def workload_of(rollout: JsonObject) -> WorkloadRef:
    """The workload that a Rollout of either version refers to; empty if it names none."""
    spec = child(rollout, "spec")
    older = child(child(spec, "objectRef"), "workloadRef")
    return _reference({"spec": {"workloadRef": older}} if older else rollout)


def _reference(beta: JsonObject) -> WorkloadRef:
    reference = child(beta, "spec", "workloadRef")
    return WorkloadRef(
        api_version=text(reference, "apiVersion"),
        kind=text(reference, "kind"),
        name=text(reference, "name"),
    )


def _conflicts(beta: JsonObject, others: Iterable[Rollout], path: str) -> Findings:
    wanted = identity(_reference(beta))
    name = text(beta, "metadata", "name")
    for other in others:
        if other.metadata.name == name or other.metadata.deleting:
            continue
        if identity(other.spec.workload_ref) == wanted:
            detail = (
                f"Rollout {other.metadata.name} releases {wanted[1]} {wanted[2]} already; "
                "a workload has one Rollout"
            )
            return (FieldError(path, Fault.FORBIDDEN, detail),)
    return ()


def _frozen(old: JsonObject, new: JsonObject, written: JsonObject) -> Findings:
    """The fields that a release in flight depends on; `old` is the live object, `written` is `new` in its author's
    fields.

    A release that stopped at a mistake before its first move depends on no route yet, and its author has been asked to
    correct the reference. In v1alpha1 the number of steps may change, as in the original: the present step is found by
    its pods.
    """
    before = converted(old, V1BETA1)
    if isinstance(before, Unconvertible):
        return ()
    phase = text(before, "status", "phase")
    if phase not in BUSY_PHASES:
        return ()
    was, now = child(before, "spec"), child(new, "spec")
    checks: list[tuple[str, object, object]] = [
        ("spec.workloadRef", child(was, "workloadRef"), child(now, "workloadRef")),
        ("spec.strategy", _style(was), _style(now)),
    ]
    if not _stopped_before_its_first_move(before):
        checks += [
            ("spec.strategy.trafficRoutings", _routings(was), _routings(now)),
            ("spec.strategy.trafficRoutingRef", _shared(before), _shared(new)),
        ]
    findings = tuple(
        FieldError(
            _shown_path(path, written),
            Fault.FORBIDDEN,
            f"{_WHAT[path]} cannot change while the phase is {phase}: wait for its end{_WAY_BACK.get(phase, '')}",
        )
        for path, before_value, after_value in checks
        if canonical(before_value) != canonical(after_value)
    )
    if phase == Phase.DISABLING or text(written, "apiVersion") == V1ALPHA1:
        return findings
    return findings + _steps_in_flight(
        was, now, number(child(before, "status"), "currentStepIndex")
    )


def _stopped_before_its_first_move(rollout: JsonObject) -> bool:
    """The release was noticed, its requirements are not met, and its author knows.

    A third revision is noticed while the routes of the one before are still restored: `goal` says so.
    """
    if text(rollout, "status", "moonshift", "goal"):
        return False
    conditions = items(child(rollout, "status"), "conditions")
    found = {text(one, "type"): child(one) for one in conditions}
    initializing = text(found.get("Progressing"), "reason") == reasons.INITIALIZING
    return initializing and text(found.get("Stalled"), "status") == "True"


def _steps_in_flight(was: JsonObject, now: JsonObject, index: int | None) -> Findings:
    """A different number of steps is unambiguous only where the steps up to the present one keep their sizes."""
    before, after = _sizes(was), _sizes(now)
    done = max(1, index or 1)
    if len(before) == len(after) or before[:done] == after[:done]:
        return ()
    detail = (
        f"the number of steps may change during a release only behind the present step, {done}: leave the replicas "
        f"of the first {done} as they are"
    )
    style = "blueGreen" if child(now, "strategy", "blueGreen") else "canary"
    return (FieldError(f"spec.strategy.{style}.steps", Fault.FORBIDDEN, detail),)


def _shown_path(path: str, written: JsonObject) -> str:
    return workload_path(written) if path == "spec.workloadRef" else path


_WAY_BACK = {Phase.PROGRESSING.value: ", or go back (kubectl moonshift undo)"}
_WHAT = {
    "spec.workloadRef": "the workload",
    "spec.strategy": "the style (canary, partition, blue-green)",
    "spec.strategy.trafficRoutings": "what leads the traffic",
    "spec.strategy.trafficRoutingRef": "the shared TrafficRouting",
}


def _style(spec: JsonObject) -> str:
    if isinstance(child(spec, "strategy").get("blueGreen"), dict):
        return "blueGreen"
    return "canary" if uses_extra_workload(spec) else "partition"


def _plan(spec: JsonObject) -> JsonObject:
    return child(spec, "strategy", "blueGreen") or child(spec, "strategy", "canary")


def _shared(rollout: JsonObject) -> str:
    """The TrafficRouting that a v1beta1 Rollout names: by the field, or by the annotation of the original."""
    named = text(_plan(child(rollout, "spec")), "trafficRoutingRef")
    return named or text(rollout, "metadata", "annotations", TRAFFIC_ROUTING)


def _routings(spec: JsonObject) -> list[object]:
    return items(_plan(spec), "trafficRoutings")


def _sizes(spec: JsonObject) -> list[object]:
    return [child(step).get("replicas") for step in items(_plan(spec), "steps")]
