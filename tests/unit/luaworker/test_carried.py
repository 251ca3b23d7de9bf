"""Bytes of requests that are held."""

from contextlib import ExitStack

import pytest

from luaworker.carried import Carried
from luaworker.errors import Overloaded


def test_a_tenant_holds_no_more_than_its_part() -> None:
    carried = Carried(per_tenant=10, total=100)
    with carried.hold("a", 6), pytest.raises(Overloaded, match="6 bytes"), carried.hold("a", 5):
        pass
    assert carried.size == 0


def test_all_together_hold_no_more_than_there_is_room_for() -> None:
    carried = Carried(per_tenant=10, total=12)
    with ExitStack() as held:
        held.enter_context(carried.hold("a", 6))
        held.enter_context(carried.hold("b", 5))
        with pytest.raises(Overloaded), carried.hold("a", 2):
            pass
        assert carried.size == 11


def test_a_tenant_without_data_is_admitted_whatever_others_hold() -> None:
    carried = Carried(per_tenant=10, total=12)
    with carried.hold("a", 12), carried.hold("b", 11):
        assert carried.size == 23
    with carried.hold("a", 11):
        assert carried.size == 11


def test_a_call_that_fails_is_not_held_any_more() -> None:
    carried = Carried(per_tenant=10, total=10)
    for _ in range(3):
        with pytest.raises(KeyError), carried.hold("a", 9):
            raise KeyError
    assert carried.size == 0
