"""A Rollout from one version to the other and back, with nothing lost.

How: a plain translation (`controller.api.v1alpha1`) is done, and reversed. If the reverse does not give the original
tree, the whole tree (spec and the annotations that represent fields) is kept in an annotation of the
result: `moonshift.dev/v1beta1` on a v1alpha1 object, `moonshift.dev/v1alpha1` on a v1beta1 object. On the way back
the kept tree is merged three ways with the tree that came in: a part that nobody changed gets its kept form again,
and a changed part is taken as it came. So a path match survives an edit of another step by an old client, a blue-green
Rollout survives being read and written by it, and a manifest reads back as it was written.

Anybody may write such an annotation, and no schema has judged it: a kept tree counts only if the whole that it makes is
one that the API server would take (`Fits`).

Invariants: converting there and back is the identity; of the metadata only annotations change (the API server allows no
more); status has the same shape in both versions and passes as it is.
"""

from collections.abc import Callable

import msgspec

from controller.api.decoding import decoded
from controller.api.jsontree import JsonObject, canonical, child, same, text
from controller.api.names import KEPT_V1ALPHA1, KEPT_V1BETA1, NOT_CONVERTED, V1ALPHA1, V1BETA1
from controller.api.v1alpha1 import CARRIERS, downgraded, upgraded

Fits = Callable[[JsonObject], bool]
"""Whether the schema of v1beta1 takes an object with this `spec`."""


def anything_fits(_: JsonObject) -> bool:
    """Every object is taken: for readers that write nothing."""
    return True


class Unconvertible(msgspec.Struct, frozen=True):
    """An object cannot be expressed in the other version; `message` says why."""

    message: str


def converted(
    obj: JsonObject, version: str, fits: Fits = anything_fits
) -> JsonObject | Unconvertible:
    """The Rollout `obj` in `version` (an apiVersion); `obj` itself where it is in that version already."""
    present = text(obj, "apiVersion")
    if text(obj, "kind") != "Rollout" or {present, version} - {V1ALPHA1, V1BETA1}:
        kind = text(obj, "kind") or "an object without kind"
        return Unconvertible(f"no conversion of {kind} from {present or 'no version'} to {version}")
    if present == version:
        return obj
    return to_v1beta1(obj, fits) if version == V1BETA1 else to_v1alpha1(obj)


def to_v1beta1(obj: JsonObject, fits: Fits = anything_fits) -> JsonObject | Unconvertible:
    """A v1alpha1 Rollout as v1beta1."""
    if not child(obj, "spec", "objectRef", "workloadRef"):
        name = text(obj, "metadata", "name") or "without a name"
        return Unconvertible(
            f"Rollout {name}: spec.objectRef.workloadRef is missing, so there is no workload to name"
        )
    tree, kept = _tree(obj), _kept(obj, KEPT_V1BETA1)
    plain = upgraded(tree)
    result = plain
    if kept is not None:
        merged = child(_merged(upgraded(downgraded(kept)), plain, kept))
        # The kept tree may add to the incoming one, never contradict it.
        views = (tree, downgraded(plain))
        agrees = any(same(downgraded(merged), view) for view in views)
        if agrees and fits({"spec": merged.get("spec")}):
            result = merged
    return _assembled(obj, V1BETA1, result, KEPT_V1ALPHA1, tree, downgraded(result))


def to_v1alpha1(obj: JsonObject) -> JsonObject:
    """A v1beta1 Rollout as v1alpha1; this direction always succeeds."""
    tree, kept = _tree(obj), _kept(obj, KEPT_V1ALPHA1)
    plain = downgraded(tree)
    result = plain
    if kept is not None:
        merged = child(_merged(downgraded(upgraded(kept)), plain, kept))
        # A kept spelling is restored only while it still has the meaning of the stored tree.
        if any(same(upgraded(merged), view) for view in (tree, upgraded(plain))):
            result = merged
    return _assembled(obj, V1ALPHA1, result, KEPT_V1BETA1, tree, upgraded(result))


def _tree(obj: JsonObject) -> JsonObject:
    annotations = child(obj, "metadata", "annotations")
    carried = {key: annotations[key] for key in CARRIERS if key in annotations}
    return {"annotations": carried, "spec": child(obj, "spec")}


def _kept(obj: JsonObject, annotation: str) -> JsonObject | None:
    """The tree that an earlier conversion kept, or None. A user can write anything into the annotation."""
    try:
        tree = decoded(text(obj, "metadata", "annotations", annotation) or "null", object)
    except msgspec.DecodeError:
        return None
    if not isinstance(tree, dict) or not isinstance(tree.get("spec"), dict):
        return None
    carried = child(tree, "annotations")
    annotations = {key: carried[key] for key in CARRIERS if isinstance(carried.get(key), str)}
    return {"annotations": annotations, "spec": tree["spec"]}


def _assembled(
    obj: JsonObject,
    version: str,
    result: JsonObject,
    annotation: str,
    tree: JsonObject,
    back: JsonObject,
) -> JsonObject:
    """`obj` in `version` with the tree `result`; `tree` is kept if the plain way `back` does not yield it."""
    ours = {*CARRIERS, KEPT_V1ALPHA1, KEPT_V1BETA1, NOT_CONVERTED}
    metadata = dict(child(obj, "metadata"))
    present = child(metadata, "annotations")
    annotations = {key: value for key, value in present.items() if key not in ours}
    annotations.update(child(result, "annotations"))
    if not same(back, tree):
        annotations[annotation] = canonical(tree).decode()
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    return {**obj, "apiVersion": version, "metadata": metadata, "spec": result["spec"]}


# --- three-way merge ----------------------------------------------------------------------------


def _merged(base: object, mine: object, kept: object) -> object:
    """`kept` with the changes from `base` to `mine`; `base` is the translation of `kept`."""
    if same(base, mine):
        return kept
    if isinstance(base, dict) and isinstance(mine, dict) and isinstance(kept, dict):
        return _merged_objects(base, mine, kept)
    if isinstance(base, list) and isinstance(mine, list) and isinstance(kept, list):
        return _merged_lists(base, mine, kept)
    return mine


def _merged_objects(base: JsonObject, mine: JsonObject, kept: JsonObject) -> JsonObject:
    # Fields that translation cannot express are only in `kept`, and stay.
    merged = {name: value for name, value in kept.items() if name not in base and name not in mine}
    for name, value in mine.items():
        if name not in base:
            merged[name] = value
        elif name in kept:
            merged[name] = _merged(base[name], value, kept[name])
        elif not same(base[name], value):
            merged[name] = value
    return merged


def _merged_lists(base: list[object], mine: list[object], kept: list[object]) -> list[object]:
    if len(base) != len(kept):
        return mine
    places = _places_of_equals(base, mine)
    taken = {place for place in places if place is not None}
    merged: list[object] = []
    for index, (value, place) in enumerate(zip(mine, places, strict=True)):
        if place is not None:
            merged.append(kept[place])
        elif len(mine) == len(base) and index not in taken and _alike(base[index], value):
            merged.append(_merged(base[index], value, kept[index]))
        else:
            merged.append(value)
    return merged


def _places_of_equals(base: list[object], mine: list[object]) -> list[int | None]:
    """For each value of `mine` where the same value is in `base`, each place used once, its own first."""
    # By their spelling, so that a long list costs its length and not the square of it.
    free: dict[bytes, dict[int, None]] = {}
    for place, value in enumerate(base):
        free.setdefault(canonical(value), {})[place] = None
    places: list[int | None] = []
    for index, value in enumerate(mine):
        group = free.get(canonical(value), {})
        free_place = index if index in group else next(iter(group), None)
        if free_place is not None:
            del group[free_place]
        places.append(free_place)
    return places


def _alike(one: object, other: object) -> bool:
    """Whether one entry can be an edit of the other: they name the same object, or neither names one."""
    return all(child(one).get(key) == child(other).get(key) for key in _IDENTITY)


_IDENTITY = ("apiVersion", "kind", "name", "service")
