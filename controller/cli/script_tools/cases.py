"""Test cases of scripts: one YAML file with a Rollout or a TrafficRouting, an original object, and the expected
results.

The format is the original project's. The input of a script is computed by the controller's own code from the
case's Rollout: any version of the API, canary and blue-green, several references, a shared Service, labels for
pods. Invariant: reading never raises; a file that cannot be used says why, and counts as failed.
"""

from pathlib import Path
from typing import TypeVar

import msgspec

from controller.api.conversion import Unconvertible, converted
from controller.api.decoding import decoded
from controller.api.names import V1BETA1
from controller.api.rollout import (
    BlueGreenStrategy,
    CanaryStrategy,
    HttpRouteMatch,
    PatchMetadata,
    Rollout,
    Step,
    ValueMatch,
)
from controller.api.trafficrouting import TrafficRouting, TrafficRoutingSpec
from controller.cli.files import read_text
from controller.cli.script_tools.script_folders import Subject
from controller.cli.script_tools.yaml_text import read_yaml
from controller.domain.decision import Reference, RoutePlan
from controller.domain.traffic.original.content import content_of
from controller.domain.traffic.plan.script_input import kind_of, sibling_of
from controller.domain.traffic.plan.traffic_plan import identified, references_of, route_plan
from controller.domain.traffic.tree import Json, Tree
from controller.scripts.lookup import Script

RELEASE = "test"


class Unusable(ValueError):
    """A file that is no case; the text says why."""


class CaseStep(msgspec.Struct, frozen=True):
    """One step: its wish in words, and as a plan; None for a step without traffic."""

    number: int
    words: str
    plan: RoutePlan
    routed: bool = True


class Case(msgspec.Struct, frozen=True):
    """A case that can be run."""

    path: Path
    original: Tree
    steps: tuple[CaseStep, ...]
    expected: tuple[Json, ...]
    siblings: tuple[Tree, ...] = ()
    """Other objects of the release, for a script whose header asks for them."""

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    @property
    def content(self) -> Tree:
        """The part of the original that scripts see."""
        return content_of(self.original)


class BadCase(msgspec.Struct, frozen=True):
    """A file that is no case, and why."""

    path: Path
    problem: str

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem


def read_case(path: Path, subject: Subject) -> Case | BadCase:
    """The case in a file; `subject` is the script it is about."""
    try:
        return _case(path, read_yaml(read_text(path)), subject)
    except (OSError, ValueError) as problem:
        return BadCase(path, str(problem))


def _case(path: Path, content: Json, subject: Subject) -> Case:
    if not isinstance(content, dict):
        raise Unusable(
            "a case is a map with the keys rollout (or trafficRouting), original and expected"
        )
    original, expected = content.get("original"), content.get("expected")
    if not isinstance(original, dict):
        raise Unusable("original is missing: the object as its owner wrote it")
    if not isinstance(expected or [], list):
        raise Unusable("expected is no list: it has one object for each step")
    if content.get("rollout") is not None:
        steps = _of_rollout(content["rollout"], original, subject)
    elif content.get("trafficRouting") is not None:
        steps = _of_traffic_routing(content["trafficRouting"], original, subject)
    else:
        raise Unusable("neither rollout nor trafficRouting is there")
    listed = tuple(expected) if isinstance(expected, list) else ()
    siblings = content.get("siblings")
    beside = siblings if isinstance(siblings, list) else []
    return Case(
        path, original, steps, listed, tuple(item for item in beside if isinstance(item, dict))
    )


def siblings_for(case: Case, script: Script) -> tuple[Json, ...]:
    """The siblings of the case that the script's header asks to see, in the controller's form."""
    wanted = script.header.siblings
    found: list[Json] = []
    for item in case.siblings:
        kind, version = str(item.get("kind", "")), str(item.get("apiVersion", ""))
        reference = Reference(version, kind, _metadata(item, "name"), "", "")
        if kind_of(reference) in wanted:
            found.append(sibling_of(reference, case.steps[0].plan, content_of(item)))
    return tuple(found)


# --- from a Rollout ---------------------------------------------------------------------------------


def _of_rollout(raw: Json, original: Tree, subject: Subject) -> tuple[CaseStep, ...]:
    if not isinstance(raw, dict):
        raise Unusable("rollout is no object")
    # The original's cases may omit required fields of a manifest.
    stored = converted({"kind": "Rollout", "apiVersion": V1BETA1, **raw}, V1BETA1)
    if isinstance(stored, Unconvertible):
        raise Unusable(stored.message)
    rollout = _decoded(stored, Rollout, "rollout")
    strategy = rollout.spec.strategy
    style = strategy.canary or strategy.blue_green
    if style is None:
        raise Unusable("rollout.spec.strategy has neither canary nor blueGreen")
    if not style.steps:
        raise Unusable("the Rollout has no steps")
    if not style.traffic_routings:
        raise Unusable("the Rollout has no trafficRoutings: a script would never be called")
    references = references_of(style.traffic_routings, style.disable_generate_canary_service)
    mine = subject.references(references, original)
    namespace = rollout.metadata.namespace or _namespace(original)
    return tuple(
        _step(number, step, mine, namespace, rollout.metadata.name, _pod_metadata(style))
        for number, step in enumerate(style.steps)
    )


def _pod_metadata(style: CanaryStrategy | BlueGreenStrategy) -> PatchMetadata:
    if isinstance(style, CanaryStrategy) and style.patch_pod_template_metadata is not None:
        return style.patch_pod_template_metadata
    return PatchMetadata()


def _step(
    number: int,
    step: Step,
    references: tuple[Reference, ...],
    namespace: str,
    rollout: str,
    pod_metadata: PatchMetadata,
) -> CaseStep:
    plan = route_plan(
        namespace=namespace,
        rollout=rollout,
        release=RELEASE,
        references=references,
        step=msgspec.structs.replace(step, matches=defaulted(step.matches)),
        pod_metadata=pod_metadata,
    )
    if step.routes_traffic and plan.weight is None and not plan.matches:
        raise Unusable(f"step {number}: traffic {step.traffic!r} is no percentage from 0% to 100%")
    return CaseStep(number, words_of(plan), plan, step.routes_traffic)


# --- from a TrafficRouting --------------------------------------------------------------------------


def _of_traffic_routing(raw: Json, original: Tree, subject: Subject) -> tuple[CaseStep, ...]:
    """One step; a TrafficRouting has no canary Service."""
    routing = _decoded(raw, TrafficRouting, "trafficRouting")
    spec: TrafficRoutingSpec = routing.spec
    if not spec.object_ref:
        raise Unusable("the TrafficRouting has no objectRef")
    mine = subject.references(references_of(spec.object_ref, disable_generate=True), original)
    strategy = spec.strategy
    plan = identified(
        RoutePlan(
            identity="",
            namespace=routing.metadata.namespace or _namespace(original),
            rollout=routing.metadata.name,
            release=RELEASE,
            references=mine,
            weight=None if strategy.weight is None else float(strategy.weight),
            matches=defaulted(strategy.matches),
            header_modifier=strategy.request_header_modifier,
        )
    )
    routed = plan.weight is not None or bool(plan.matches)
    return (CaseStep(0, words_of(plan), plan, routed),)


# --- shared -----------------------------------------------------------------------------------------

_T = TypeVar("_T")


def _decoded(raw: object, kind: type[_T], what: str) -> _T:
    try:
        return decoded(msgspec.json.encode(raw), kind)
    except msgspec.ValidationError as problem:
        raise Unusable(f"{what}: {problem}") from problem


def _metadata(obj: Tree, key: str) -> str:
    metadata = obj.get("metadata")
    value = metadata.get(key) if isinstance(metadata, dict) else None
    return value if isinstance(value, str) else ""


def _namespace(original: Tree) -> str:
    return _metadata(original, "namespace") or "default"


def defaulted(matches: tuple[HttpRouteMatch, ...]) -> tuple[HttpRouteMatch, ...]:
    """Matches as the API server stores them: types that are left out are Exact, of paths PathPrefix."""

    def values(conditions: tuple[ValueMatch, ...]) -> tuple[ValueMatch, ...]:
        return tuple(
            msgspec.structs.replace(item, type=item.type or "Exact") for item in conditions
        )

    return tuple(
        msgspec.structs.replace(
            match,
            headers=values(match.headers),
            query_params=values(match.query_params),
            path=None
            if match.path is None
            else msgspec.structs.replace(
                match.path, type=match.path.type or "PathPrefix", value=match.path.value or "/"
            ),
        )
        for match in matches
    )


def words_of(plan: RoutePlan) -> str:
    """A step in a few words."""
    parts = [] if plan.weight is None else [f"{plan.weight:g} %"]
    parts += [" and ".join(_conditions(match)) for match in plan.matches]
    described = " or ".join(parts) or "no traffic"
    changed = "" if plan.header_modifier is None else ", headers changed"
    return described + changed


def _conditions(match: HttpRouteMatch) -> list[str]:
    found = [] if match.path is None else [f"path {match.path.value}"]
    found += [f"{item.name}{_sign(item)}{item.value}" for item in match.headers]
    found += [f"?{item.name}{_sign(item)}{item.value}" for item in match.query_params]
    return [*found, *([match.method] if match.method else [])]


def _sign(item: ValueMatch) -> str:
    return "~=" if item.type == "RegularExpression" else "="
