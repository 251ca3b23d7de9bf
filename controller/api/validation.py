"""Field rules of a Rollout: what the schema cannot say and a person should hear at once.

Invariant: pure and total; every finding names the field as it is called in the version that was written. What the
original accepts is accepted, with the exceptions that `docs` list: ReplicaSets, and a gateway route that is to tell two
revisions apart by one Service. Whether objects exist is no question for admission: they may come later.
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise

import msgspec

from controller.api.advice import advice, patterns_of, steps_of
from controller.api.conversion import Unconvertible, converted
from controller.api.idle import idle_fields
from controller.api.jsontree import JsonObject, canonical, child, items, number, text
from controller.api.names import (
    ROLLBACK_IN_BATCH,
    ROLLING_STYLE,
    TRAFFIC_ROUTING,
    V1ALPHA1,
    V1BETA1,
    WORKLOAD_TYPE,
)
from controller.api.quantity import is_count, parse_percent, parse_share
from controller.api.regex import uncompilable
from controller.api.rollout import RolloutSpec
from controller.api.workload_kinds import KNOWN_WORKLOADS

_RETURN_IN_BATCHES = {
    ("apps", "StatefulSet"),
    ("apps.kruise.io", "StatefulSet"),
    ("apps.kruise.io", "CloneSet"),
}
_BLUE_GREEN_WORKLOADS = {("apps", "Deployment"), ("apps.kruise.io", "CloneSet")}


class Fault(StrEnum):
    """What is wrong with a field, in the words of the API server."""

    REQUIRED = "Required value"
    INVALID = "Invalid value"
    UNSUPPORTED = "Unsupported value"
    FORBIDDEN = "Forbidden"
    DUPLICATE = "Duplicate value"


class FieldError(msgspec.Struct, frozen=True):
    """One finding: where, of which kind, and what to do about it."""

    path: str
    kind: Fault
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.kind}: {self.detail}"


class Rules(msgspec.Struct, frozen=True):
    """What the administrator set by flags."""

    partition_percent_limit: int = 50
    filter_workload_type: bool = False
    """Refuse Rollouts of kinds that are not known by name, whatever label their objects carry."""
    tracks_config: bool = False


Findings = tuple[FieldError, ...]
MOST_STEPS = 500
MOST_ENTRIES = 100
"""Far beyond any plan that a person follows; without a bound, judging a forged one takes minutes."""


DEFAULT_RULES = Rules()


def validate(obj: JsonObject, rules: Rules = DEFAULT_RULES) -> Findings:
    """All findings about a Rollout (raw JSON, either version)."""
    if text(obj, "apiVersion") == V1ALPHA1:
        return _validate_v1alpha1(obj, rules)
    return _validate_spec(child(obj, "spec"), rules, lowest_traffic=1)


def warnings(obj: JsonObject) -> tuple[str, ...]:
    """What is accepted but will not do what its author may expect."""
    beta = converted(obj, V1BETA1)
    if isinstance(beta, Unconvertible):
        return ()
    spec = child(beta, "spec")
    found = _idle_annotation(beta)
    canary = child(spec, "strategy", "canary")
    found += _idle_steps(items(canary, "steps"))
    found += _unknown_kind(spec)
    found += _pauses_below_zero(spec)
    found += idle_fields(spec, uses_extra_workload(spec))
    shared = _entries(canary) if _shares_service(canary) else []
    found += [
        f"trafficRoutings of Service {text(entry, 'service')}: an Ingress cannot tell revisions apart "
        "that share one Service; leave disableGenerateCanaryService out"
        for entry in shared
        if child(entry, "ingress")
    ]
    return (*found, *advice(obj))


def _unknown_kind(spec: JsonObject) -> list[str]:
    """A kind that is known by the label of its object alone, which a Rollout does not show."""
    group, kind = group_kind = _group_kind(child(spec, "workloadRef"))
    if group_kind in KNOWN_WORKLOADS:
        return []
    word = (
        f"a {kind} of group {group} is released only where it works like a StatefulSet and carries the label "
        f"{WORKLOAD_TYPE}: statefulset"
    )
    return [word]


def _idle_annotation(beta: JsonObject) -> list[str]:
    """A rollback in batches that is asked for where it cannot be."""
    if text(beta, "metadata", "annotations", ROLLBACK_IN_BATCH) != "true":
        return []
    spec = child(beta, "spec")
    strategy = child(spec, "strategy")
    plan = child(strategy, "canary")
    kind = _group_kind(child(spec, "workloadRef"))
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


def uses_extra_workload(spec: JsonObject) -> bool:
    """Canary style: asked for, and the workload is a Deployment (others fall back to partition style)."""
    return child(spec, "strategy", "canary").get(
        "enableExtraWorkloadForCanary"
    ) is True and _group_kind(child(spec, "workloadRef")) == ("apps", "Deployment")


# --- v1beta1 ------------------------------------------------------------------------------------


def _validate_spec(spec: JsonObject, rules: Rules, lowest_traffic: int) -> Findings:
    return (
        *_undecodable(spec),
        *_check_workload(spec, rules),
        *_check_strategy(spec, rules, lowest_traffic),
    )


def _undecodable(spec: JsonObject) -> Findings:
    """The schema vouches for types, except where a v1alpha1 object carries v1beta1 parts in an annotation."""
    try:
        msgspec.json.decode(msgspec.json.encode(spec), type=RolloutSpec)
    except msgspec.ValidationError as error:
        return (FieldError("spec", Fault.INVALID, str(error)),)
    return ()


def _group_kind(reference: JsonObject) -> tuple[str, str]:
    group, slash, _ = text(reference, "apiVersion").partition("/")
    return (group if slash else "", text(reference, "kind"))


def _check_workload(spec: JsonObject, rules: Rules) -> Findings:
    reference, path = child(spec, "workloadRef"), "spec.workloadRef"
    missing = [name for name in ("apiVersion", "kind", "name") if not text(reference, name)]
    if missing:
        return tuple(
            FieldError(f"{path}.{name}", Fault.REQUIRED, "names the workload to release")
            for name in missing
        )
    group, kind = group_kind = _group_kind(reference)
    described = f"{kind} of group {group or 'core'}"
    if group_kind == ("apps", "ReplicaSet"):
        detail = "a ReplicaSet has no revisions; name the Deployment that owns it"
        return (FieldError(path, Fault.UNSUPPORTED, detail),)
    # The groups of Kubernetes' own kinds have no dot, but for such as end in k8s.io; those of installed kinds have one.
    installed = "." in group and not rules.filter_workload_type
    if not installed and group_kind not in KNOWN_WORKLOADS:
        known = ", ".join(f"{kind}.{group}" for group, kind in sorted(KNOWN_WORKLOADS))
        return (
            FieldError(path, Fault.UNSUPPORTED, f"{described} cannot be released; {known} can"),
        )
    blue_green = child(spec, "strategy").get("blueGreen") is not None
    if blue_green and group_kind not in _BLUE_GREEN_WORKLOADS:
        detail = f"{described} cannot be released blue-green; a Deployment or a CloneSet can"
        return (FieldError(path, Fault.UNSUPPORTED, detail),)
    return ()


def _check_strategy(spec: JsonObject, rules: Rules, lowest_traffic: int) -> Findings:
    strategy, path = child(spec, "strategy"), "spec.strategy"
    given = [name for name in ("canary", "blueGreen") if isinstance(strategy.get(name), dict)]
    if len(given) != 1:
        detail = "exactly one of canary and blueGreen says how to release"
        return (FieldError(path, Fault.INVALID if given else Fault.REQUIRED, detail),)
    name = given[0]
    plan, path = child(strategy, name), f"{path}.{name}"
    if name == "blueGreen":
        lowest_traffic = 0
    limited = name == "canary" and not uses_extra_workload(spec)
    limit = rules.partition_percent_limit if limited else None
    return (
        *_check_steps(plan, path, limit, lowest_traffic),
        *_check_matches(plan, path),
        *_check_routings(plan, path),
        *_check_listed_once(plan, path),
        *_check_deadline(plan, path),
    )


def _check_deadline(plan: JsonObject, path: str) -> Findings:
    if not plan.get("onDeadlineExceeded") or plan.get("progressDeadlineSeconds") is not None:
        return ()
    detail = "says what happens when progressDeadlineSeconds is over: set that, or leave this out"
    return (FieldError(f"{path}.onDeadlineExceeded", Fault.INVALID, detail),)


def _check_steps(plan: JsonObject, path: str, limit: int | None, lowest_traffic: int) -> Findings:
    steps = items(plan, "steps")
    if not steps:
        return (FieldError(f"{path}.steps", Fault.REQUIRED, "a release needs at least one step"),)
    if len(steps) > MOST_STEPS:
        detail = f"{len(steps)} steps; {MOST_STEPS} is the most"
        return (FieldError(f"{path}.steps", Fault.INVALID, detail),)
    found: list[FieldError] = []
    for index, step in enumerate(steps):
        place = f"{path}.steps[{index}]"
        fields = child(step)
        found += _check_replicas(fields, place, limit)
        found += _check_traffic(fields, place, lowest_traffic)
    return (*found, *(() if found else _check_order(steps, path)))


def _check_replicas(step: JsonObject, place: str, limit: int | None) -> Findings:
    replicas, place = step.get("replicas"), f"{place}.replicas"
    if replicas is None:
        return (FieldError(place, Fault.REQUIRED, "how many new pods this step has in all"),)
    if isinstance(replicas, int) and is_count(replicas):
        if replicas > 0:
            return ()
        return (FieldError(place, Fault.INVALID, f"{replicas}: a step has at least one new pod"),)
    percent = parse_percent(replicas if isinstance(replicas, str) else None)
    if percent is None or not 0 < percent <= 100:
        detail = f'{replicas!r}: a number above 0, or a whole percentage from "1%" to "100%"'
        detail += _percent_meant(replicas)
        return (FieldError(place, Fault.INVALID, detail),)
    routed = step.get("traffic") is not None or bool(items(step, "matches"))
    if limit is not None and routed and percent > limit:
        detail = (
            f"{percent}% is more than {limit}%: a step that moves pods of the workload itself and leads traffic must "
            "leave enough old pods for the rest of it; use enableExtraWorkloadForCanary, fewer replicas, or the flag "
            "--partition-percent-limit"
        )
        return (FieldError(place, Fault.INVALID, detail),)
    return ()


def _check_traffic(step: JsonObject, place: str, lowest: int) -> Findings:
    traffic = step.get("traffic")
    if traffic is None:
        return ()
    share = parse_share(traffic)
    if share is None or (share == 0 and lowest > 0):
        least = "above 0%" if lowest > 0 else 'from "0%"'
        detail = f'{traffic!r}: a percentage {least} to "100%", with at most two decimals'
        detail += _percent_meant(traffic)
        return (FieldError(f"{place}.traffic", Fault.INVALID, detail),)
    return ()


def _percent_meant(written: object) -> str:
    """The way out for who left the sign out, and the quotes with it."""
    plain = str(written) if isinstance(written, str | int) else ""
    return f'; write "{plain}%" for a share' if plain.isdigit() and 0 < int(plain) <= 100 else ""


def _check_matches(plan: JsonObject, path: str) -> Findings:
    """Matches that match everything, and expressions that no gateway compiles."""
    found: list[FieldError] = []
    for index, step in steps_of(plan):
        for at, match in enumerate(map(child, items(step, "matches"))):
            if not any(match.get(field) for field in ("path", "headers", "queryParams", "method")):
                place = f"{path}.steps[{index}].matches[{at}]"
                detail = "an empty match is every request; say which by headers, path, queryParams or method"
                found.append(FieldError(place, Fault.REQUIRED, detail))
    for place, pattern in patterns_of(plan, path):
        if (problem := uncompilable(pattern)) is not None:
            detail = f"{pattern!r} is no regular expression: {problem}"
            found.append(FieldError(place, Fault.INVALID, detail))
    return tuple(found)


def _check_listed_once(plan: JsonObject, path: str) -> Findings:
    """Two entries about one gateway object would each write it as if the other were not there."""
    seen: dict[tuple[str, str, str], str] = {}
    found: list[FieldError] = []
    for identity, place in _objects_of(plan, path):
        if identity in seen:
            detail = (
                f"{identity[1]} {identity[2]} is named by {seen[identity]} already; name it once"
            )
            found.append(FieldError(place, Fault.DUPLICATE, detail))
        seen.setdefault(identity, place)
    return tuple(found)


def _objects_of(plan: JsonObject, path: str) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Group, kind and name of every gateway object that is named, and where."""
    for index, entry in enumerate(_entries(plan)):
        place = f"{path}.trafficRoutings[{index}]"
        for at, reference in enumerate(map(child, items(entry, "customNetworkRefs"))):
            name = (*_group_kind(reference), text(reference, "name"))
            yield name, f"{place}.customNetworkRefs[{at}]"
        if ingress := text(entry, "ingress", "name"):
            yield ("networking.k8s.io", "Ingress", ingress), f"{place}.ingress.name"
        if route := text(entry, "gateway", "httpRouteName"):
            yield (
                ("gateway.networking.k8s.io", "HTTPRoute", route),
                f"{place}.gateway.httpRouteName",
            )


def _check_order(steps: list[object], path: str) -> Findings:
    """Neighbours of one sort must not go down; a number and a percentage cannot be compared here."""
    found = []
    sizes = [child(step).get("replicas") for step in steps]
    for index, (before, after) in enumerate(pairwise(sizes), start=1):
        low, high = (_size(value) for value in (before, after))
        if isinstance(before, str) == isinstance(after, str) and high < low:
            detail = f"{after} after {before}: later steps keep the pods of earlier ones"
            found.append(FieldError(f"{path}.steps[{index}].replicas", Fault.INVALID, detail))
    return tuple(found)


def _size(replicas: object) -> int:
    return replicas if isinstance(replicas, int) else parse_percent(str(replicas)) or 0


def _entries(plan: JsonObject) -> list[JsonObject]:
    return [child(entry) for entry in items(plan, "trafficRoutings")]


def _shares_service(plan: JsonObject) -> bool:
    return plan.get("disableGenerateCanaryService") is True


def _check_routings(plan: JsonObject, path: str) -> Findings:
    found: list[FieldError] = []
    entries = _entries(plan)
    named = sum(1 for _ in _objects_of(plan, path))
    if max(len(entries), named) > MOST_ENTRIES:
        detail = f"{max(len(entries), named)} entries; {MOST_ENTRIES} is the most"
        return (FieldError(f"{path}.trafficRoutings", Fault.INVALID, detail),)
    for index, entry in enumerate(entries):
        place = f"{path}.trafficRoutings[{index}]"
        found += _check_routing(entry, place)
        if _shares_service(plan) and entry.get("gateway") is not None:
            detail = (
                "an HTTPRoute tells revisions apart by their Services, so it cannot lead traffic while "
                "disableGenerateCanaryService makes both share one"
            )
            found.append(FieldError(f"{place}.gateway", Fault.FORBIDDEN, detail))
    return tuple(found)


def _check_routing(entry: JsonObject, place: str) -> Findings:
    found: list[FieldError] = []
    grace = number(entry, "gracePeriodSeconds")
    if grace is not None and grace < 0:
        detail = f"{grace}: a wait cannot be negative"
        found.append(FieldError(f"{place}.gracePeriodSeconds", Fault.INVALID, detail))
    if not text(entry, "service"):
        found.append(FieldError(f"{place}.service", Fault.REQUIRED, "the stable Service"))
    ingress, gateway = entry.get("ingress"), entry.get("gateway")
    if ingress is None and gateway is None and entry.get("customNetworkRefs") is None:
        detail = "one of ingress, gateway and customNetworkRefs leads the traffic"
        found.append(FieldError(place, Fault.REQUIRED, detail))
    if ingress is not None and not text(entry, "ingress", "name"):
        found.append(FieldError(f"{place}.ingress.name", Fault.REQUIRED, "names the Ingress"))
    if gateway is not None and not text(entry, "gateway", "httpRouteName"):
        place = f"{place}.gateway.httpRouteName"
        found.append(FieldError(place, Fault.REQUIRED, "names the HTTPRoute"))
    return tuple(found)


# --- v1alpha1 -----------------------------------------------------------------------------------


def _validate_v1alpha1(obj: JsonObject, rules: Rules) -> Findings:
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
        return (*found, *_check_workload(spec, rules), absent)
    # With replicas given the original never looked at the weight; 0 means no traffic.
    for error in _validate_spec(spec, rules, lowest_traffic=0):
        said = _in_v1alpha1_words(error, canary)
        # One mistake is told once: a weight stands for the replicas as well, where those are left out.
        if said.path not in {known.path for known in found}:
            found.append(said)
    return tuple(found)


def _in_v1alpha1_words(error: FieldError, canary: JsonObject) -> FieldError:
    """The finding with the names that its author wrote."""
    path = error.path.replace("spec.workloadRef", "spec.objectRef.workloadRef")
    detail = error.detail.replace("enableExtraWorkloadForCanary", f"{ROLLING_STYLE}: canary")
    step, dot, field = path.rpartition(".")
    if dot and field in ("traffic", "replicas"):
        written = _step_at(step, canary)
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
    entries, path = _entries(canary), "spec.strategy.canary.trafficRoutings"
    said = [entry.get("createCanaryService") for entry in entries]
    given = [value for value in said if value is not None]
    if given and canary.get("disableGenerateCanaryService") is not None:
        detail = "says the same as canary.disableGenerateCanaryService; leave one of them out"
        place = f"{path}[{said.index(given[0])}].createCanaryService"
        found.append(FieldError(place, Fault.FORBIDDEN, detail))
    if given and len({value is not False for value in said}) > 1:
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
    if _entries(canary):
        for index, (low, high) in enumerate(pairwise(weights), start=1):
            if low is not None and high is not None and high < low:
                detail = f"{high} after {low}: weights do not go down"
                found.append(FieldError(f"{path}[{index}].weight", Fault.INVALID, detail))
    return tuple(found)
