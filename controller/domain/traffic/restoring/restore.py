"""Removes our changes of an object, and only ours.

Three trees are compared: the original O, our desired version D, and the live object L. Where nobody else wrote, L
equals D and O is restored; elsewhere our change is removed and the changes of others stay. The next step uses the
same computation: the original that includes the changes of others is exactly "L without our part".

Rules, from the outside in:
 * a part of L that equals D becomes O again; a part that D did not change belongs to others and stays as it is in L;
 * somebody restored a part of L that equals O already: it stays, and counts as *touched*;
 * a part that both changed becomes O again, and counts as *touched*: somebody overwrote our part;
 * fields that L has in addition, in an object that D also has, are kept when O had that object (others added them), and
   are removed with the object when we added it (they are mostly server defaults); labels and annotations always belong
   to the owner;
 * list elements are paired (see `align`); where our part of a list and new elements of somebody else are in the same
   place and cannot be separated, our part is removed, theirs stays, and the result is *ambiguous*.

Invariant: total on all JSON values; restore(O, D, D) is O, restore(O, O, L) is L. Must not treat any field by name
except `labels` and `annotations` of the content.
"""

from typing import Final, TypeAlias

import msgspec

from controller.domain.traffic.restoring.likeness import Likeness
from controller.domain.traffic.restoring.merge_list import merge_list
from controller.domain.traffic.tree import Json, Tree, same


class _Missing(msgspec.Struct, frozen=True):
    """The field does not exist, which is different from null."""


MISSING: Final = _Missing()
_Value: TypeAlias = "Json | _Missing"
_OWNERS_MAPS = ("labels", "annotations")


class Restored(msgspec.Struct, frozen=True):
    """The live content without our part.

    `touched`: somebody overwrote something that we had changed. `ambiguous`: our part and theirs could not be
    separated.
    """

    content: Tree
    touched: bool = False
    ambiguous: bool = False


class _Merge:
    """One computation; collects `touched` and `ambiguous`."""

    def __init__(self) -> None:
        self.touched = False
        self.ambiguous = False
        self._likeness = Likeness()

    def value(self, original: _Value, desired: _Value, live: _Value) -> _Value:
        """The restored form of one value."""
        if self._equal(live, desired):
            return original
        if self._equal(original, desired):
            return live
        if self._equal(live, original):
            # Restored already; pairing the elements of such a list could mistake one of them for a new element of
            # somebody else.
            self.touched = True
            return original
        if isinstance(desired, dict) and isinstance(live, dict) and isinstance(original, dict):
            return self._object(original, desired, live)
        if isinstance(desired, list) and isinstance(live, list) and isinstance(original, list):
            return self._list(original, desired, live)
        if not self._filled_up(desired, live):
            self.touched = True
        return original

    def _equal(self, one: _Value, other: _Value) -> bool:
        if isinstance(one, _Missing) or isinstance(other, _Missing):
            return isinstance(one, _Missing) and isinstance(other, _Missing)
        return self._likeness.same(one, other)

    def _filled_up(self, desired: _Value, live: _Value) -> bool:
        """We added the whole value, and the server added only defaults to it."""
        if isinstance(desired, _Missing) or isinstance(live, _Missing):
            return False
        return self._likeness.contains(live, desired)

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
        found = merge_list(original, desired, live, self._element, self._likeness)
        self.touched |= found.touched
        self.ambiguous |= found.ambiguous
        return found.items

    def _element(self, original: Json, desired: Json, live: Json) -> Json:
        merged = self.value(original, desired, live)
        assert not isinstance(merged, _Missing)  # none of the three is missing
        return merged


def _with_maps(content: Tree) -> Tree:
    """The content with both maps present, so that additions of others to an empty map are recognised as theirs."""
    return {**{key: {} for key in _OWNERS_MAPS}, **content}


def restore(original: Tree, desired: Tree, live: Tree) -> Restored:
    """The live content without the changes from `original` to `desired`."""
    if same(live, desired):
        return Restored(original)
    merge = _Merge()
    merged = merge.value(_with_maps(original), _with_maps(desired), _with_maps(live))
    content: Tree = merged if isinstance(merged, dict) else {}
    kept = {key: item for key, item in content.items() if item or key not in _OWNERS_MAPS}
    return Restored(kept, touched=merge.touched, ambiguous=merge.ambiguous)
