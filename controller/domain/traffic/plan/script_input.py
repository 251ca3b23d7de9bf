"""The input of scripts, and the order in which their answers are written.

The input follows the original controller's contract exactly and extends it: the *original* content (never the live
object, so that no step depends on the one before), both weights, matches, both Services and header changes. We add the
pods' metadata, the object's identity, its siblings among the references, and the reference's parameters.
Invariant: the same original and plan give the same bytes. The order depends on headers only, never on the list.
"""

import msgspec

from controller.api.rollout import HeaderModifier, HttpRouteMatch, NameValue, ValueMatch
from controller.domain.decision import Reference, RoutePlan
from controller.domain.traffic.plan.header import GroupKind, ScriptHeader
from controller.domain.traffic.tree import Json, Tree, decode_tree, encode

NO_SHARE = -1
"""`canaryWeight` of a step without `traffic`; `stableWeight` is then 101, as scripts expect."""


class Cycle(msgspec.Struct, frozen=True):
    """Kinds of which each has to be written after the other."""

    kinds: tuple[GroupKind, ...]

    def __str__(self) -> str:
        return " after ".join(str(kind) for kind in (*self.kinds, self.kinds[0]))


def kind_of(reference: Reference) -> GroupKind:
    """Group and kind of a reference."""
    return GroupKind(reference.group, reference.kind)


def depths_of(headers: tuple[tuple[Reference, ScriptHeader], ...]) -> tuple[int, ...] | Cycle:
    """Depth of each reference: 0 if no other object refers to it, else one more than the deepest object written
    after it.

    Objects are written from the greatest depth to 0 and restored from 0 to the greatest; references of one depth do not
    depend on each other.
    """
    above: dict[GroupKind, list[GroupKind]] = {kind_of(reference): [] for reference, _ in headers}
    for reference, header in headers:
        for kind in header.after:
            if kind in above:
                above[kind].append(kind_of(reference))
    depths: dict[GroupKind, int] = {}
    waiting = list(above)
    while waiting:
        ready = [kind for kind in waiting if all(other in depths for other in above[kind])]
        if not ready:
            return _cycle(waiting[0], above, depths)
        for kind in ready:
            depths[kind] = max((depths[other] + 1 for other in above[kind]), default=0)
        waiting = [kind for kind in waiting if kind not in depths]
    return tuple(depths[kind_of(reference)] for reference, _ in headers)


def _cycle(
    start: GroupKind, above: dict[GroupKind, list[GroupKind]], depths: dict[GroupKind, int]
) -> Cycle:
    """The cycle that a kind is part of."""
    path = [start]
    while True:
        following = next(kind for kind in above[path[-1]] if kind not in depths)
        if following in path:
            return Cycle(tuple(reversed(path[path.index(following) :])))
        path.append(following)


def _typed(conditions: tuple[ValueMatch, ...]) -> Json:
    return [
        {**({"type": item.type} if item.type else {}), "name": item.name, "value": item.value}
        for item in conditions
    ]


def _match(match: HttpRouteMatch) -> Json:
    found: Tree = {}
    if match.path is not None:
        path = {"type": match.path.type, "value": match.path.value}
        found["path"] = {key: text for key, text in path.items() if text}
    if match.headers:
        found["headers"] = _typed(match.headers)
    if match.query_params:
        found["queryParams"] = _typed(match.query_params)
    if match.method:
        found["method"] = match.method
    return found


def _pairs(pairs: tuple[NameValue, ...]) -> Json:
    return [{"name": pair.name, "value": pair.value} for pair in pairs]


def _modifier(modifier: HeaderModifier) -> Tree:
    parts: Tree = {
        "set": _pairs(modifier.set),
        "add": _pairs(modifier.add),
        "remove": list(modifier.remove),
    }
    return {key: part for key, part in parts.items() if part}


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() else value


def params_of(reference: Reference) -> Tree:
    """The reference's own parameters; parameters that are no object count as none (admission refuses them)."""
    try:
        return decode_tree(bytes(reference.params))
    except ValueError:
        return {}


def script_input(
    reference: Reference, plan: RoutePlan, original: Tree, siblings: tuple[Json, ...] = ()
) -> bytes:
    """The global `obj` of one call, as JSON."""
    share = float(NO_SHARE) if plan.weight is None else plan.weight
    obj: Tree = {
        "data": original,
        "canaryWeight": _number(share),
        # Rounded, so that 100 - 33.3 is not 66.69999999999999.
        "stableWeight": _number(round(100 - share, 9)),
        "canaryService": reference.canary_service,
        "stableService": reference.stable_service,
        # Always both maps: published scripts walk over `obj.patchPodMetadata.labels` without a check.
        "patchPodMetadata": {
            "labels": {**plan.pod_metadata.labels},
            "annotations": {**plan.pod_metadata.annotations},
        },
        "object": {
            "apiVersion": reference.api_version,
            "kind": reference.kind,
            "name": reference.name,
            "namespace": plan.namespace,
        },
        "params": params_of(reference),
        "siblings": list(siblings),
    }
    if plan.stable_labels is not None:
        obj["stablePodLabels"] = {**plan.stable_labels}
    if plan.announces:
        obj["announce"] = True
    if plan.matches:
        obj["matches"] = [_match(match) for match in plan.matches]
    if plan.header_modifier is not None:
        obj["requestHeaderModifier"] = _modifier(plan.header_modifier)
    return encode(obj)


def sibling_of(reference: Reference, plan: RoutePlan, original: Tree) -> Json:
    """An object as its siblings' scripts see it: identity and original content, read only."""
    return {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "name": reference.name,
        "namespace": plan.namespace,
        **original,
    }
