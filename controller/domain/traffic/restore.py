"""Taking back what we changed of an object, and only that.

Three trees are compared: the original O, what we made of it D, and the live object L. Where nobody else wrote, L
still says what D says and O comes back as it was; elsewhere our change goes back and the others' stays. The same
computation serves the next step: an original with the others' changes folded in is exactly "L without our part".

Rules, from the outside in:
 * what L still says as D does becomes O again; what D had not changed is the others' and stays as L has it;
 * what L says as O did, somebody has put back already: it stays, and counts as *touched*;
 * what both changed becomes O again, and counts as *touched*: somebody wrote over our part;
 * fields that L has on top of an object D also has are kept when O had that object (the others' additions), and go
   with the object when we had made it (mostly defaults of the server); labels and annotations are always the owner's;
 * list elements are paired (see `align`); where our part of a list and somebody's new elements stand in the same
   place and cannot be told apart, our part goes, theirs stays, and the result is *ambiguous*.

Invariant: total on all JSON values; restore(O, D, D) is O, restore(O, O, L) is L. Must not look at any field by name
but `labels` and `annotations` of the content.
"""

from typing import Final, TypeAlias

import msgspec

from controller.domain.traffic.relist import relist
from controller.domain.traffic.tree import Json, Tree, covers, same


class _Missing(msgspec.Struct, frozen=True):
    """The field does not exist: not the same as null."""


MISSING: Final = _Missing()
_Value: TypeAlias = "Json | _Missing"
_OWNERS_MAPS = ("labels", "annotations")


class Restored(msgspec.Struct, frozen=True):
    """The live content without our part.

    `touched`: somebody wrote over something we had changed. `ambiguous`: it could not be told what was whose.
    """

    content: Tree
    touched: bool = False
    ambiguous: bool = False


class _Merge:
    """One computation; collects what happened on the way."""

    def __init__(self) -> None:
        self.touched = False
        self.ambiguous = False

    def value(self, original: _Value, desired: _Value, live: _Value) -> _Value:
        """What becomes of one value."""
        if _equal(live, desired):
            return original
        if _equal(original, desired):
            return live
        if _equal(live, original):
            # Put back already; pairing the elements of such a list could take one of them for somebody's new one.
            self.touched = True
            return original
        if isinstance(desired, dict) and isinstance(live, dict) and isinstance(original, dict):
            return self._object(original, desired, live)
        if isinstance(desired, list) and isinstance(live, list) and isinstance(original, list):
            return self._list(original, desired, live)
        if not self._filled_up(desired, live):
            self.touched = True
        return original

    @staticmethod
    def _filled_up(desired: _Value, live: _Value) -> bool:
        """We made the whole value, and the server only added defaults to it."""
        if isinstance(desired, _Missing) or isinstance(live, _Missing):
            return False
        return covers(live, desired)

    def _object(self, original: Tree, desired: Tree, live: Tree) -> Tree:
        merged: Tree = {}
        keys = dict.fromkeys((*live, *original, *desired))
        for key in keys:
            item = self.value(
                original.get(key, MISSING), desired.get(key, MISSING), live.get(key, MISSING)
            )
            if not isinstance(item, _Missing):
                merged[key] = item
        return merged

    def _list(self, original: list[Json], desired: list[Json], live: list[Json]) -> list[Json]:
        found = relist(original, desired, live, self._element)
        self.touched |= found.touched
        self.ambiguous |= found.ambiguous
        return found.items

    def _element(self, original: Json, desired: Json, live: Json) -> Json:
        merged = self.value(original, desired, live)
        assert not isinstance(merged, _Missing)  # none of the three is missing
        return merged


def _equal(one: _Value, other: _Value) -> bool:
    if isinstance(one, _Missing) or isinstance(other, _Missing):
        return isinstance(one, _Missing) and isinstance(other, _Missing)
    return same(one, other)


def _with_maps(content: Tree) -> Tree:
    """The content with both maps present, so that what others add to an empty one is theirs."""
    return {**{key: {} for key in _OWNERS_MAPS}, **content}


def restore(original: Tree, desired: Tree, live: Tree) -> Restored:
    """The live content without what leads from `original` to `desired`."""
    if same(live, desired):
        return Restored(original)
    merge = _Merge()
    merged = merge.value(_with_maps(original), _with_maps(desired), _with_maps(live))
    content: Tree = merged if isinstance(merged, dict) else {}
    kept = {key: item for key, item in content.items() if item or key not in _OWNERS_MAPS}
    return Restored(kept, touched=merge.touched, ambiguous=merge.ambiguous)
