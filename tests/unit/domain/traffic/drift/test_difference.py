"""The differences between a live object and the written one, in words."""

from typing import Any

import pytest

from controller.domain.traffic.drift.difference import MAX_DIFFERENCES, differences


@pytest.mark.parametrize(
    ("written", "live", "expected"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": {"b": 1}}, {"a": {"b": 1, "server": True}}, []),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["a.b from 1 to 2"]),
        ({"a": 1}, {}, ["a from 1 to nothing"]),
        ({"a": [{"w": 1}, {"w": 2}]}, {"a": [{"w": 1}, {"w": 9}]}, ["a[1].w from 2 to 9"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a from [1] to [1,2]"]),
        ({"a": {}}, {"a": "x"}, ['a from {} to "x"']),
    ],
)
def test_differences_are_named_by_their_place(written: Any, live: Any, expected: list[str]) -> None:
    assert [str(item) for item in differences(written, live)] == expected


def test_long_values_and_long_lists_are_cut() -> None:
    (found,) = differences({"a": "x" * 200}, {"a": ""})
    assert len(found.wanted) == 60
    many: Any = {str(number): number for number in range(20)}
    assert len(differences(many, {})) == MAX_DIFFERENCES
