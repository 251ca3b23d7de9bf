"""Removes our part from a list that others changed, too.

It walks the live list. An element that belongs to one of the original's elements is restored in place, an element that
we inserted leaves a gap, and a foreign element stays. Missing elements of the original are then restored: into the gap
that our insertion left, else behind the element they followed, else before the element they preceded.
Invariant: no foreign element is lost, and no element of the original that we removed or changed.
Must not compare elements beyond equality: `merge` handles the content of an element.
"""

from collections.abc import Callable

import msgspec

from controller.domain.traffic.restoring.align import Alignment, align, gaps
from controller.domain.traffic.tree import Json, covers, same

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

    def __init__(self, original: list[Json], desired: list[Json], live: list[Json]) -> None:
        self.original, self.desired, self.live = original, desired, live
        self.ours: Alignment = align(original, desired)
        self.theirs: Alignment = align(desired, live)
        self.source = {d: o for o, d in self.ours.pairs}
        self.placed = {index: d for d, index in self.theirs.pairs}
        self.slots: list[_Slot] = []
        self.touched = False

    def changed(self, d: int) -> bool:
        """We inserted or changed this element of the desired list."""
        return d not in self.source or not same(self.original[self.source[d]], self.desired[d])

    def fill(self, merge: Merge) -> None:
        """A slot for every element of the live list."""
        lost = set(range(len(self.desired))) - set(self.placed.values())
        awaited = [o for o in range(len(self.original)) if o not in self.source.values()]
        awaited += sorted(self.source[d] for d in lost if d in self.source and self.changed(d))
        for index, item in enumerate(self.live):
            d = self.placed.get(index)
            if d is None:
                self.slots.append(self._foreign(item, awaited))
            elif d in self.source:
                o = self.source[d]
                self.slots.append(_Slot(merge(self.original[o], self.desired[d], item), o=o))
            else:
                self.touched |= not covers(item, self.desired[d])
                self.slots.append(_Slot(d=d))
        self.touched |= any(self.changed(d) for d in lost)
        for o in sorted(awaited):
            self.slots.insert(self._place(o), _Slot(self.original[o], o=o))

    def _foreign(self, item: Json, awaited: list[int]) -> _Slot:
        """A new element, or an element of the original that somebody restored."""
        for o in awaited:
            if same(self.original[o], item):
                awaited.remove(o)
                self.touched = True
                return _Slot(item, o=o)
        return _Slot(item)

    def _place(self, o: int) -> int:
        """Where a missing element of the original belongs."""
        beside = next(
            (
                come
                for gone, come in gaps(self.ours.pairs, len(self.original), len(self.desired))
                if o in gone
            ),
            [],
        )
        before = after = None
        for position, slot in enumerate(self.slots):
            if slot.d is not None and slot.d in beside:
                return position
            if slot.o is not None and slot.o < o:
                before = position + 1
            if slot.o is not None and slot.o > o and after is None:
                after = position
        return before if before is not None else after if after is not None else 0

    def doubtful(self) -> bool:
        """One of our elements is missing and a foreign element appeared in its place: the two may be the same
        element.
        """
        stretches = gaps(self.theirs.pairs, len(self.desired), len(self.live))
        return any(
            any(self.changed(d) for d in lost)
            and any(not any(same(self.live[i], o) for o in self.original) for i in come)
            for lost, come in stretches
        )


def merge_list(
    original: list[Json], desired: list[Json], live: list[Json], merge: Merge
) -> MergedList:
    """`live` without the changes from `original` to `desired`; `merge` does the same for one element."""
    walk = _Walk(original, desired, live)
    walk.fill(merge)
    return MergedList(
        items=[slot.item for slot in walk.slots if slot.d is None],
        touched=walk.touched,
        ambiguous=walk.doubtful() or not (walk.ours.exact and walk.theirs.exact),
    )
