"""Judging what a script answered, before anything is written.

A script may be wrong, old, or anybody's; what it says becomes the routing of live traffic. Refused is an answer
without a spec, with labels that are no strings, with unsound weights, with a destination that neither the original
nor the Rollout names, and one in which a rule that has nothing to do with the Rollout was changed, moved or lost.
Invariant: labels and annotations that the script does not return are kept; our own annotations are not its business.
Must not know gateway kinds: rules are the lists of objects directly under `spec`.
"""

import msgspec

from controller.domain.decision import Reference
from controller.domain.traffic.flaw import Flaw
from controller.domain.traffic.hosts import destinations_in, is_service, mentions
from controller.domain.traffic.objects import judge_objects
from controller.domain.traffic.original import OURS, strings_of
from controller.domain.traffic.scripts import params_of
from controller.domain.traffic.tree import Json, Tree, decode_tree, same
from controller.domain.traffic.weights import FACTORS, weight_flaw


def _with_kept(answer: Tree, original: Tree, key: str) -> dict[str, str] | Flaw:
    """Labels or annotations: the original's, and what the script says on top."""
    said = answer.get(key)
    # An empty Lua table may come out as a list.
    if said is None or said == []:
        said = {}
    if not isinstance(said, dict):
        return Flaw(f"the script's {key} are no table")
    for name, value in said.items():
        if not isinstance(value, str):
            return Flaw(f"the script's {key} have a value for {name} that is no string")
    kept = {**strings_of(original.get(key)), **strings_of(said)}
    return {name: value for name, value in kept.items() if name not in OURS}


def _foreign_host(spec: Json, original: Json, services: frozenset[str], namespace: str) -> str:
    """A destination that nobody named, or an empty string."""
    known = {destination.host for destination in destinations_in(original)}
    for destination in destinations_in(spec):
        host = destination.host
        if host not in known and not any(is_service(host, name, namespace) for name in services):
            return host
    return ""


def _unweighed(rule: Json) -> Json:
    """A rule but for its weight: all weights of a list may be multiplied, which `weight_flaw` checks."""
    if not isinstance(rule, dict):
        return rule
    return {key: item for key, item in rule.items() if key != "weight"}


def _keeps_in_order(rules: list[Json], wanted: list[Json]) -> bool:
    """All `wanted` elements are among `rules`, unchanged but for their weights, and in their order."""
    remaining = iter([_unweighed(rule) for rule in rules])
    return all(any(same(rule, _unweighed(want)) for rule in remaining) for want in wanted)


def _names_of(original: Tree, services: frozenset[str], namespace: str) -> frozenset[str]:
    """The Services, and what the object itself calls them: named elements (upstreams, backends) that mention one."""
    named = {
        item["name"]
        for items in original.values()
        if isinstance(items, list)
        for item in items
        if isinstance(item, dict)
        and any(mentions(item, name, namespace) for name in services)
        and "name" in item
    }
    return services | {name for name in named if isinstance(name, str)}


def _lost_rules(spec: Tree, original: Tree, stable: frozenset[str], namespace: str) -> str:
    """The list in which a rule of somebody else did not survive, or an empty string."""
    stable = _names_of(original, stable, namespace)
    for key, rules in original.items():
        if not isinstance(rules, list):
            continue
        foreign: list[Json] = [
            rule
            for rule in rules
            if isinstance(rule, dict)
            and not any(mentions(rule, name, namespace) for name in stable)
        ]
        now = spec.get(key)
        if foreign and not _keeps_in_order(now if isinstance(now, list) else [], foreign):
            return key
    return ""


def _scales(references: tuple[Reference, ...]) -> frozenset[float]:
    """What references ask their scripts to multiply weights by (`params.scale`)."""
    found = (params_of(reference).get("scale") for reference in references)
    return frozenset(
        float(scale) for scale in found if isinstance(scale, (int, float)) and 0 < scale < 10**6
    )


def _spec_flaw(spec: Tree, before: Tree, references: tuple[Reference, ...], namespace: str) -> str:
    """What is wrong with the routes themselves, or an empty string."""
    stable = frozenset(reference.stable_service for reference in references)
    services = stable | {reference.canary_service for reference in references}
    if flaw := weight_flaw(spec, before, FACTORS | _scales(references)):
        return flaw
    if host := _foreign_host(spec, before, services, namespace):
        return f"the script leads to {host}, which neither the original nor the Rollout names"
    if key := _lost_rules(spec, before, services, namespace):
        return f"the script changed, moved or lost a rule in spec.{key} that does not concern the Rollout"
    return ""


class Answer(msgspec.Struct, frozen=True):
    """What an object has to say, and the manifests of what is to stand beside it."""

    content: Tree
    objects: tuple[Tree, ...] = ()


def judge_answer(
    result: bytes,
    original: Tree,
    references: tuple[Reference, ...],
    namespace: str,
    around: tuple[Reference, ...] = (),
) -> Answer | Flaw:
    """The content to write, or why not. `references` are all that lead through this object; what may stand
    beside it is said by those `around`, all of the Rollout."""
    try:
        answer = decode_tree(result)
    except ValueError as problem:
        return Flaw(f"the script's answer cannot be read: {problem}")
    return judge_tree(answer, original, references, namespace, around)


def judge_tree(
    answer: Tree,
    original: Tree,
    references: tuple[Reference, ...],
    namespace: str,
    around: tuple[Reference, ...] = (),
) -> Answer | Flaw:
    """The same of an answer that was read."""
    spec, before = answer.get("spec"), original.get("spec")
    if not isinstance(spec, dict):
        return Flaw("the script's answer has no spec; a script returns obj.data, changed as needed")
    before = before if isinstance(before, dict) else {}
    if flaw := _spec_flaw(spec, before, references, namespace):
        return Flaw(flaw)
    content: Tree = {"spec": spec}
    for name in ("labels", "annotations"):
        part = _with_kept(answer, original, name)
        if isinstance(part, Flaw):
            return part
        if part:
            content[name] = {**part}
    objects = judge_objects(
        answer.get("objects"), original, references, around or references, namespace
    )
    return objects if isinstance(objects, Flaw) else Answer(content, objects)
