"""The number of keys that a namespace holds, and the cost of knowing it."""

from collections.abc import Iterator
from typing import Any

from controller.api.meta import Key
from controller.kube.held_watches import Bounds, HeldWatches

MANY = 2_000


class Idle:
    """A watch of which nobody asks anything."""

    async def run(self) -> None:
        raise AssertionError("nothing runs")


class Counting(dict[Key, frozenset[str]]):
    """The objects that owners hold. It counts the owners that were looked at."""

    looked_at = 0

    def items(self) -> Any:
        self.looked_at += len(self)
        return super().items()

    def values(self) -> Any:
        self.looked_at += len(self)
        return super().values()

    def __iter__(self) -> Iterator[Key]:
        self.looked_at += len(self)
        return super().__iter__()


def watches(of_a_namespace: int = 2) -> HeldWatches[str, Idle]:
    return HeldWatches(lambda key: Idle(), Bounds(of_a_namespace, 100), lambda owner: None)


def test_one_owner_more_is_taken_in_without_a_look_at_all_others() -> None:
    held = watches()
    held._held = counting = Counting()
    for number in range(MANY):
        held.keep(Key(f"shop-{number % 7}", f"web-{number}"), ["lane"])
    assert len(counting) == MANY
    assert counting.looked_at == 0


def test_a_key_counts_for_its_namespace_until_its_last_owner_there_lets_go() -> None:
    held = watches(of_a_namespace=1)
    first, second, third = (Key("shop", name) for name in ("a", "b", "c"))
    held.keep(first, ["lane"])
    held.keep(second, ["lane"])
    held.keep(first, [])
    held.keep(third, ["road"])
    assert held.get("road") is None, "the second still holds the only one"
    held.keep(second, [])
    held.keep(third, ["road"])
    assert held.get("road") is not None
    held.keep(third, [])
    assert held._in_namespace == {}


def test_a_place_that_becomes_free_in_a_namespace_wakes_its_refused_owners() -> None:
    woken: list[Key] = []
    held = HeldWatches[str, Idle](lambda key: Idle(), Bounds(1, 100), woken.append)
    first, refused = Key("shop", "a"), Key("shop", "b")
    held.keep(Key("other", "a"), ["lane"])
    held.keep(first, ["lane"])
    held.keep(refused, ["road"])
    assert held.get("road") is None
    held.keep(first, [])
    assert woken == [refused], "another namespace still holds the key, but this one has room"
