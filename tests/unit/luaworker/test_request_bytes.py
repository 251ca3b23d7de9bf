"""Bytes of requests that are held."""

from contextlib import ExitStack

import pytest

from luaworker.errors import Overloaded
from luaworker.request_bytes import RequestBytes


def test_a_tenant_holds_no_more_than_its_part() -> None:
    request_bytes = RequestBytes(per_tenant=10, total=100)
    with (
        request_bytes.hold("a", 6),
        pytest.raises(Overloaded, match="6 bytes"),
        request_bytes.hold("a", 5),
    ):
        pass
    assert request_bytes.size == 0


def test_all_together_hold_no_more_than_there_is_room_for() -> None:
    request_bytes = RequestBytes(per_tenant=10, total=12)
    with ExitStack() as held:
        held.enter_context(request_bytes.hold("a", 6))
        held.enter_context(request_bytes.hold("b", 5))
        with pytest.raises(Overloaded), request_bytes.hold("a", 2):
            pass
        assert request_bytes.size == 11


def test_a_tenant_without_data_is_admitted_beside_any_data_of_others() -> None:
    request_bytes = RequestBytes(per_tenant=10, total=12)
    with request_bytes.hold("a", 12), request_bytes.hold("b", 11):
        assert request_bytes.size == 23
    with request_bytes.hold("a", 11):
        assert request_bytes.size == 11


def test_a_call_that_fails_is_not_held_any_more() -> None:
    request_bytes = RequestBytes(per_tenant=10, total=10)
    for _ in range(3):
        with pytest.raises(KeyError), request_bytes.hold("a", 9):
            raise KeyError
    assert request_bytes.size == 0
