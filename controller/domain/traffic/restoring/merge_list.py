"""Removes our part from a list that others changed, too.

It walks the live list. An element that belongs to one of the original's elements is restored in place, an element that
we inserted leaves a gap, and a foreign element stays. Missing elements of the original are then restored: into the gap
that our insertion left, else behind the element they followed, else before the element they preceded.
Invariant: no foreign element is lost, and no element of the original that we removed or changed.
Must not compare elements beyond equality: `merge` handles the content of an element. The work grows with the lists, and
not with their product: everybody who may write the object chooses them.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence

import msgspec

from controller.domain.traffic.restoring.align import Alignment, align, gaps
from controller.domain.traffic.restoring.likeness import Likeness, Node
from controller.domain.traffic.tree import Json

Merge = Callable[[Json, Json, Json], Json]


class MergedList(msgspec.Struct, frozen=True):
    """The list without our part; the flags are those of `Restored`."""

    items: list[Json]
    touched: bool
    ambiguous: bool


class _Slot(msgspec.Struct):
    """One place of the new list: an element of the original (`o`), a gap of ours (`d`), or a foreign element."""

    item: Json = None
    o: int | None = None
    d: int | None = None


class _Walk:
    """The three lists, their pairs, and the slots filled so far."""

    def __init__(
        self, original: list[Json], desired: list[Json], live: list[Json], likeness: Likeness
    ) -> None:
        self.original, self.desired, self.live = original, desired, live
        self.likeness = likeness
        self.ours: Alignment = align(original, desired, likeness)
        self.theirs: Alignment = align(desired, live, likeness)
        self.source = {d: o for o, d in self.ours.pairs}
        self.placed = {index: d for d, index in self.theirs.pairs}
        self.slots: list[_Slot] = []
        self.touched = False

    def changed(self, d: int) -> bool:
        """We inserted or changed this element of the desired list."""
        if d not in self.source:
            return True
        return not self.likeness.same(self.original[self.source[d]], self.desired[d])

    def fill(self, merge: Merge) -> None:
        """A slot for every element of the live list, and for the missing ones of the original."""
        lost = set(range(len(self.desired))) - set(self.placed.values())
        kept = set(self.source.values())
        removed = [o for o in range(len(self.original)) if o not in kept]
        changed = sorted(self.source[d] for d in lost if d in self.source and self.changed(d))
        awaited = _Awaited(self, (*removed, *changed))
        for index, item in enumerate(self.live):
            d = self.placed.get(index)
            if d is None:
                found = awaited.taken(item)
                self.touched |= found is not None
                self.slots.append(_Slot(item, o=found))
            elif d in self.source:
                o = self.source[d]
                self.slots.append(_Slot(merge(self.original[o], self.desired[d], item), o=o))
            else:
                self.touched |= not self.likeness.contains(item, self.desired[d])
                self.slots.append(_Slot(d=d))
        self.touched |= any(self.changed(d) for d in lost)
        self._put_back(sorted(awaited.left))

    def _put_back(self, missing: list[int]) -> None:
        """The slots with those of missing elements, in rising order, between them.

        Each comes behind those that are put back into the same gap before it: they all precede it.
        """
        between = dict[int, list[_Slot]]()
        place = _Places(self)
        for o in missing:
            between.setdefault(place.of(o), []).append(_Slot(self.original[o], o=o))
        filled: list[_Slot] = []
        for position, slot in enumerate((*self.slots, None)):
            filled += between.get(position, ())
            filled += (slot,) if slot is not None else ()
        self.slots = filled

    def doubtful(self) -> bool:
        """One of our elements is missing and a foreign element appeared in its place: the two may be the same
        element.
        """
        known = {self.likeness.node(item) for item in self.original}
        stretches = gaps(self.theirs.pairs, len(self.desired), len(self.live))
        return any(
            any(self.changed(d) for d in lost)
            and any(self.likeness.node(self.live[i]) not in known for i in come)
            for lost, come in stretches
        )


class _Awaited:
    """Missing elements of the original; somebody may have restored one."""

    def __init__(self, walk: _Walk, missing: Sequence[int]) -> None:
        self._likeness = walk.likeness
        self._by_node: dict[Node, deque[int]] = {}
        for o in missing:
            node = self._likeness.node(walk.original[o])
            self._by_node.setdefault(node, deque()).append(o)

    def taken(self, item: Json) -> int | None:
        """The first element that equals this one, which is no longer missing; None for an element that is new."""
        equal = self._by_node.get(self._likeness.node(item))
        return equal.popleft() if equal else None

    @property
    def left(self) -> Iterator[int]:
        """The elements that nobody restored."""
        return (o for equal in self._by_node.values() for o in equal)


class _Places:
    """Before which slot a missing element of the original belongs; to be asked for each in rising order."""

    def __init__(self, walk: _Walk) -> None:
        self._gap: dict[int, int] = {}
        """Where the element was removed or replaced: the first of the slots that our insertion left there."""
        at = {slot.d: position for position, slot in enumerate(walk.slots)}
        for gone, come in gaps(walk.ours.pairs, len(walk.original), len(walk.desired)):
            left = [at[d] for d in come if d in at]
            self._gap |= dict.fromkeys(gone, min(left)) if left else {}
        known = (
            (slot.o, position) for position, slot in enumerate(walk.slots) if slot.o is not None
        )
        self._known = deque(sorted(known))
        self._behind: int | None = None
        """Behind the last slot of an element that precedes the present one."""

    def of(self, o: int) -> int:
        """The position of the slot before which the element belongs."""
        while self._known and self._known[0][0] < o:
            self._is_passed(self._known.popleft()[1] + 1)
        found = self._gap.get(o, self._behind)
        if found is None:
            found = min((position for _, position in self._known), default=0)
        self._is_passed(found)
        return found

    def _is_passed(self, position: int) -> None:
        self._behind = position if self._behind is None else max(self._behind, position)


def merge_list(
    original: list[Json],
    desired: list[Json],
    live: list[Json],
    merge: Merge,
    likeness: Likeness,
) -> MergedList:
    """`live` without the changes from `original` to `desired`; `merge` does the same for one element."""
    walk = _Walk(original, desired, live, likeness)
    walk.fill(merge)
    return MergedList(
        items=[slot.item for slot in walk.slots if slot.d is None],
        touched=walk.touched,
        ambiguous=walk.doubtful() or not (walk.ours.exact and walk.theirs.exact),
    )
