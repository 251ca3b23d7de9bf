"""A merged list is the one that a look through the whole lists for each element finds; without that look."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from controller.domain.traffic.restoring import likeness as alikeness
from controller.domain.traffic.restoring.align import Alignment, align, gaps
from controller.domain.traffic.restoring.likeness import Likeness
from controller.domain.traffic.restoring.merge_list import merge_list
from controller.domain.traffic.restoring.restore import restore
from controller.domain.traffic.tree import Json, Tree, covers, same
from tests.unit.domain.traffic.json_trees import edited_rules
from tests.unit.growth import calls


class Slot(msgspec.Struct):
    """One place of the new list: an element of the original (`o`), a gap of ours (`d`), or a foreign element."""

    item: Json = None
    o: int | None = None
    d: int | None = None


class ByLooking:
    """The merge that looks through the whole lists for each element: slow, and easy to read."""

    def __init__(self, original: list[Json], desired: list[Json], live: list[Json]) -> None:
        self.original, self.desired, self.live = original, desired, live
        self.ours: Alignment = align(original, desired, Likeness())
        self.theirs: Alignment = align(desired, live, Likeness())
        self.source = {d: o for o, d in self.ours.pairs}
        self.placed = {index: d for d, index in self.theirs.pairs}
        self.slots: list[Slot] = []
        self.touched = False

    def changed(self, d: int) -> bool:
        """We inserted or changed this element of the desired list."""
        return d not in self.source or not same(self.original[self.source[d]], self.desired[d])

    def fill(self, merge: Callable[[Json, Json, Json], Json]) -> None:
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
                self.slots.append(Slot(merge(self.original[o], self.desired[d], item), o=o))
            else:
                self.touched |= not covers(item, self.desired[d])
                self.slots.append(Slot(d=d))
        self.touched |= any(self.changed(d) for d in lost)
        for o in sorted(awaited):
            self.slots.insert(self._place(o), Slot(self.original[o], o=o))

    def _foreign(self, item: Json, awaited: list[int]) -> Slot:
        """A new element, or an element of the original that somebody restored."""
        for o in awaited:
            if same(self.original[o], item):
                awaited.remove(o)
                self.touched = True
                return Slot(item, o=o)
        return Slot(item)

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


small = st.lists(
    st.integers(0, 4)
    | st.fixed_dictionaries({"name": st.sampled_from("ab")}, optional={"x": st.integers(0, 1)}),
    max_size=7,
)


def kept(_original: Json, _desired: Json, live: Json) -> Json:
    return live


def check(original: list[Any], desired: list[Any], live: list[Any]) -> None:
    found = merge_list(original, desired, live, kept, Likeness())
    by_looking = ByLooking(original, desired, live)
    by_looking.fill(kept)
    assert found.items == [slot.item for slot in by_looking.slots if slot.d is None]
    assert found.touched == by_looking.touched
    exact = by_looking.ours.exact and by_looking.theirs.exact
    assert found.ambiguous == (by_looking.doubtful() or not exact)


@example([1, {"name": "a", "x": 0}, 2], [9, {"name": "a", "x": 1}], ["foreign", 9])
@given(small, small, small)
def test_any_lists_are_merged_as_by_looking(
    original: list[Any], desired: list[Any], live: list[Any]
) -> None:
    check(original, desired, live)


@given(small, st.randoms(use_true_random=False))
def test_parts_of_one_list_in_another_order_are_merged_as_by_looking(
    items: list[Any], random: Any
) -> None:
    desired, live = list(items), [*items, *items]
    random.shuffle(desired)
    random.shuffle(live)
    check(items, desired[: len(items) // 2 + 1], live[: len(items)])


@given(edited_rules())
def test_edited_rules_are_merged_as_by_looking(
    rules: tuple[list[Any], list[Any], list[Any], list[Any]],
) -> None:
    check(*rules[:3])


def weighed(number: int) -> Json:
    return {"match": number, "weight": 80}


@pytest.mark.parametrize("live", ["none", "others", "originals", "ours"])
@pytest.mark.parametrize("desired", ["none", "changed"])
def test_the_work_grows_with_the_lists_and_not_with_their_product(desired: str, live: str) -> None:
    def work(size: int) -> int:
        original: list[Json] = [{"match": number} for number in range(size)]
        ours: list[Json] = [weighed(number) for number in range(size)]
        wrote = {"none": [], "changed": ours}[desired]
        now: dict[str, list[Json]] = {
            "none": [],
            "others": [{"other": number} for number in range(size)],
            "originals": original[::-1],
            "ours": ours[1:],
        }
        contents: list[Tree] = [{"spec": {"http": items}} for items in (original, wrote, now[live])]
        return calls(lambda: restore(*contents))

    assert work(800) < 2.3 * work(400)


def test_the_work_grows_with_the_depth_and_not_with_its_square() -> None:
    def work(depth: int) -> int:
        def nested(end: int) -> dict[str, Json]:
            tree: Json = [end, *range(200)]
            for _ in range(depth):
                tree = [tree]
            return {"spec": tree}

        contents = [nested(end) for end in (1000, 1001, 1002)]
        return calls(lambda: restore(*contents))

    assert work(80) - work(40) < 80 * 40


def test_lists_that_are_too_much_together_are_ambiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    """One list is small enough to look into; a thousand of them in one object are not."""

    def content(lists: int, **fields: Json) -> dict[str, Json]:
        return {
            "spec": {
                f"k{number}": [{"n": index, **fields} for index in range(3)]
                for number in range(lists)
            }
        }

    def is_ambiguous(lists: int) -> bool:
        contents = (content(lists, w=1), content(lists, w=2), content(lists, w=2, theirs=1))
        return restore(*contents).ambiguous

    monkeypatch.setattr(alikeness, "MOST_COMPARISONS", 100)
    assert not is_ambiguous(1)
    assert is_ambiguous(2)
