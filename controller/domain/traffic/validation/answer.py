"""Validates the answer of a script before anything is written.

A script may be wrong, outdated or untrusted, and its answer becomes the routing of live traffic. An answer is refused
when it has no spec, has labels that are not strings, has inconsistent weights, names a destination that neither the
original nor the Rollout names, or changes, moves or drops a rule that does not concern the Rollout.
Invariant: labels and annotations that the script does not return are kept; scripts cannot change our own annotations.
Must not know gateway kinds: rules are the lists of objects directly under `spec`.
"""

import re

import msgspec

from controller.domain.decision import Reference
from controller.domain.traffic.hosts import destinations_in, is_service, mentions
from controller.domain.traffic.original.content import MARKS, strings_of
from controller.domain.traffic.plan.script_input import params_of
from controller.domain.traffic.tree import Json, Tree, decode_tree, same
from controller.domain.traffic.validation.companion_objects import validate_objects
from controller.domain.traffic.validation.violation import Violation
from controller.domain.traffic.validation.weights import FACTORS, weight_violation


def _with_kept(answer: Tree, original: Tree, key: str) -> dict[str, str] | Violation:
    """Labels or annotations: the original's, overlaid with the script's."""
    given = answer.get(key)
    # An empty Lua table may come out as a list.
    if given is None or given == []:
        given = {}
    if not isinstance(given, dict):
        return Violation(f"the script's {key} are no table")
    for name, value in given.items():
        if not isinstance(value, str):
            return Violation(f"the script's {key} have a value for {name} that is no string")
    kept = {**strings_of(original.get(key)), **strings_of(given)}
    return {name: value for name, value in kept.items() if name not in MARKS}


def _foreign_host(spec: Json, original: Json, services: frozenset[str], namespace: str) -> str:
    """A destination that neither the original nor the Rollout names, or an empty string."""
    known = {destination.host for destination in destinations_in(original)}
    for destination in destinations_in(spec):
        host = destination.host
        if host not in known and not any(is_service(host, name, namespace) for name in services):
            return host
    return ""


def _unweighed(rule: Json) -> Json:
    """A rule without its weight: all weights of a list may be multiplied, and `weight_violation` checks them."""
    if not isinstance(rule, dict):
        return rule
    return {key: item for key, item in rule.items() if key != "weight"}


def _keeps_in_order(rules: list[Json], wanted: list[Json]) -> bool:
    """All `wanted` elements are among `rules`, unchanged but for their weights, and in their order."""
    remaining = iter([_unweighed(rule) for rule in rules])
    return all(any(same(rule, _unweighed(want)) for rule in remaining) for want in wanted)


def _named_by_annotations(annotations: dict[str, str], services: frozenset[str]) -> set[str]:
    """Names that annotations give to Services: `<field>.<name>`, with a value that mentions one, as an action does."""
    leads = [re.compile(rf"(?<![\w.-]){re.escape(service)}(?![\w-])") for service in services]
    return {
        key.rpartition("/")[2].partition(".")[2]
        for key, value in annotations.items()
        if any(service.search(value) for service in leads)
    } - {""}


def _names_of(original: Tree, services: frozenset[str], namespace: str) -> frozenset[str]:
    """The Services, and the object's own names for them: named elements (upstreams, backends) that mention one."""
    named = {
        item["name"]
        for items in original.values()
        if isinstance(items, list)
        for item in items
        if isinstance(item, dict) and mentions(item, services, namespace) and "name" in item
    }
    return services | {name for name in named if isinstance(name, str)}


def _lost_rules(spec: Tree, original: Tree, stable: frozenset[str], namespace: str) -> str:
    """The list in which somebody else's rule was lost, or an empty string."""
    stable = _names_of(original, stable, namespace)
    for key, rules in original.items():
        if not isinstance(rules, list):
            continue
        foreign: list[Json] = [
            rule
            for rule in rules
            if isinstance(rule, dict) and not mentions(rule, stable, namespace)
        ]
        now = spec.get(key)
        if foreign and not _keeps_in_order(now if isinstance(now, list) else [], foreign):
            return key
    return ""


def _scales(references: tuple[Reference, ...]) -> frozenset[float]:
    """The factors by which references ask their scripts to multiply weights (`params.scale`)."""
    found = (params_of(reference).get("scale") for reference in references)
    return frozenset(
        float(scale) for scale in found if isinstance(scale, (int, float)) and 0 < scale < 10**6
    )


def _spec_violation(
    spec: Tree,
    before: Tree,
    references: tuple[Reference, ...],
    namespace: str,
    annotations: dict[str, str],
) -> str:
    """The violation in the routes themselves, in words, or an empty string."""
    stable = frozenset(reference.stable_service for reference in references)
    services = stable | {reference.canary_service for reference in references}
    if violation := weight_violation(spec, before, FACTORS | _scales(references)):
        return violation
    if host := _foreign_host(spec, before, services, namespace):
        return f"the script leads to {host}, which neither the original nor the Rollout names"
    named = services | _named_by_annotations(annotations, services)
    if key := _lost_rules(spec, before, named, namespace):
        return f"the script changed, moved or lost a rule in spec.{key} that does not concern the Rollout"
    return ""


class Answer(msgspec.Struct, frozen=True):
    """The content to write into an object, and the manifests of its companion objects."""

    content: Tree
    objects: tuple[Tree, ...] = ()


def validate_answer(
    result: bytes,
    original: Tree,
    references: tuple[Reference, ...],
    namespace: str,
    of_rollout: tuple[Reference, ...] = (),
) -> Answer | Violation:
    """The content to write, or a violation. `references` are all that lead through this object; the references
    `of_rollout` are all of the Rollout, and decide which companion objects are allowed.
    """
    try:
        answer = decode_tree(result)
    except ValueError as problem:
        return Violation(f"the script's answer cannot be read: {problem}")
    return validate_tree(answer, original, references, namespace, of_rollout)


def validate_tree(
    answer: Tree,
    original: Tree,
    references: tuple[Reference, ...],
    namespace: str,
    of_rollout: tuple[Reference, ...] = (),
) -> Answer | Violation:
    """As `validate_answer`, for an answer that is decoded already."""
    spec, before = answer.get("spec"), original.get("spec")
    if not isinstance(spec, dict):
        return Violation(
            "the script's answer has no spec; a script returns obj.data, changed as needed"
        )
    before = before if isinstance(before, dict) else {}
    annotations = strings_of(original.get("annotations"))
    if violation := _spec_violation(spec, before, references, namespace, annotations):
        return Violation(violation)
    content: Tree = {"spec": spec}
    for name in ("labels", "annotations"):
        part = _with_kept(answer, original, name)
        if isinstance(part, Violation):
            return part
        if part:
            content[name] = {**part}
    objects = validate_objects(
        answer.get("objects"), original, references, of_rollout or references, namespace
    )
    return objects if isinstance(objects, Violation) else Answer(content, objects)
