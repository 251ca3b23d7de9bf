"""The annotations of a gateway object and their limit."""

import pytest

from controller.api.names import LAST_APPLIED, ORIGINAL_SPEC, ROUTE_STATE
from controller.domain.traffic.tree import Tree
from controller.domain.traffic.validation.room import LIMIT, size_of, without_room

NAMES = len(ORIGINAL_SPEC) + len(ROUTE_STATE)


def ours(size: int) -> dict[str, str]:
    return {ORIGINAL_SPEC: "c" * (size - NAMES - 10), ROUTE_STATE: "r" * 10}


def test_names_and_values_count_in_bytes() -> None:
    assert size_of({"é": "ü€", "a": ""}) == 2 + 5 + 1


@pytest.mark.parametrize(
    ("size", "spare", "fits"),
    [(LIMIT, 0, True), (LIMIT + 1, 0, False), (LIMIT - 9, 10, False), (LIMIT - 10, 10, True)],
)
def test_the_limit_is_that_of_kubernetes(size: int, spare: int, fits: bool) -> None:
    assert (without_room({"spec": {}}, ours(size), spare) is None) is fits


def test_the_owners_annotations_count_and_kubectls_copy_is_named() -> None:
    desired: Tree = {"spec": {}, "annotations": {LAST_APPLIED: "a" * 70_000}}
    found = without_room(desired, ours(LIMIT - 60_000))
    assert found is not None
    assert "70000 bytes" in found.message
    assert "--server-side" in found.message


def test_the_room_of_later_steps_is_named_only_when_it_alone_is_missing() -> None:
    near, over = (without_room({"spec": {}}, ours(size), 100) for size in (LIMIT, LIMIT + 1))
    assert near is not None
    assert over is not None
    assert "later steps may need 100 more" in near.message
    assert "later" not in over.message
