import copy
import itertools
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from controller.domain.traffic.restoring import align as alignment
from controller.domain.traffic.restoring.align import align
from controller.domain.traffic.restoring.likeness import Likeness
from controller.domain.traffic.restoring.restore import Restored, restore
from controller.domain.traffic.tree import Json, covers, same
from tests.unit.domain.traffic.json_trees import contents, edited_rules, keys, values


def http(*rules: Any) -> dict[str, Any]:
    return {"spec": {"http": list(rules)}}


@given(contents, contents)
def test_where_nobody_else_wrote_the_original_comes_back(
    original: dict[str, Any], desired: dict[str, Any]
) -> None:
    assert restore(original, desired, copy.deepcopy(desired)) == Restored(original)


@given(contents, contents)
def test_an_unchanged_object_stays_as_it_is(original: dict[str, Any], live: dict[str, Any]) -> None:
    found = restore(original, copy.deepcopy(original), live)
    assert same(found.content, live)
    assert not found.touched


@given(contents, contents)
@example({"spec": {"a": [None, {"a": None}, {}]}}, {"spec": {"a": [{"a": None}]}})
def test_a_part_that_somebody_already_restored_counts_as_original(
    original: dict[str, Any], desired: dict[str, Any]
) -> None:
    assert same(restore(original, desired, copy.deepcopy(original)).content, original)


@given(contents, contents, contents)
def test_any_three_objects_have_an_answer(
    original: dict[str, Any], desired: dict[str, Any], live: dict[str, Any]
) -> None:
    found = restore(original, desired, live)
    assert not any(found.content.get(part) == {} for part in ("labels", "annotations"))


@given(
    contents, contents, st.dictionaries(keys.map("new-".__add__), values, min_size=1, max_size=2)
)
def test_fields_of_others_survive(
    original: dict[str, Any], desired: dict[str, Any], foreign: dict[str, Any]
) -> None:
    live = copy.deepcopy(desired)
    live["spec"] |= foreign
    live.setdefault("labels", {})["new"] = "theirs"
    found = restore(original, desired, live)
    merged: Any = found.content["spec"]
    for key, value in foreign.items():
        assert same(merged.pop(key), value)
    assert found.content["labels"] == {**original.get("labels", {}), "new": "theirs"}
    assert same(found.content["spec"], original["spec"])
    assert not found.touched


@given(edited_rules())
def test_rules_of_others_survive_and_ours_go(
    lists: tuple[list[Any], list[Any], list[Any], list[Any]],
) -> None:
    original, desired, live, foreign = lists
    found = restore(http(*original), http(*desired), http(*live))
    merged: Any = found.content["spec"]
    left = [rule for rule in merged["http"] if rule not in foreign]
    assert left == original
    assert all(rule in merged["http"] for rule in foreign)
    assert not found.touched


A: dict[str, Any] = {"id": "a", "to": "x"}
B: dict[str, Any] = {"id": "b", "to": "y"}
C: dict[str, Any] = {"id": "c", "to": "canary"}
F: dict[str, Any] = {"id": "f", "to": "z"}


@pytest.mark.parametrize(
    ("original", "desired", "live", "merged", "touched", "ambiguous"),
    [
        pytest.param([A], [C, A], [C, F, A], [F, A], 0, 0, id="a rule beside ours stays"),
        pytest.param([A], [C, A], [A], [A], 1, 0, id="our rule was removed"),
        pytest.param([A], [C, A], [C | {"to": "q"}, A], [A], 1, 0, id="our rule was changed"),
        pytest.param([A], [C, A], [C | {"port": 1}, A], [A], 0, 0, id="our rule was defaulted"),
        pytest.param([A, B], [B], [B], [A, B], 0, 0, id="a rule we removed comes back in front"),
        pytest.param([A, B], [A], [A, F], [A, B, F], 0, 0, id="and behind what it followed"),
        pytest.param([A, B], [B], [F, B], [F, A, B], 0, 0, id="and before what it preceded"),
        pytest.param([A, B], [B], [A, B], [A, B], 1, 0, id="somebody put it back first"),
        pytest.param([A, B], [B], [A, B, F], [A, B, F], 1, 0, id="and another came as well"),
        pytest.param([A], [], [F], [F, A][::-1], 0, 0, id="nothing to go by: in front"),
        pytest.param([A], [C], [F, C], [F, A], 0, 0, id="a replaced rule keeps its place"),
        pytest.param([A, B], [A, B | {"w": 1}], [A], [A, B], 1, 0, id="a changed rule was removed"),
        pytest.param([A, B], [A | {"w": 1}, B], [A | {"w": 1}], [A], 0, 0, id="a foreign removal"),
        pytest.param(
            [A],
            [A | {"w": 1}],
            [A | {"w": 1, "t": 5}],
            [A | {"t": 5}],
            0,
            0,
            id="a field beside ours stays",
        ),
        pytest.param([A], [C, A], [F, B, A], [F, B, A], 1, 1, id="which one was ours?"),
        pytest.param([A], [A | {"w": 1}], ["s"], [A, "s"], 1, 1, id="nothing alike is left"),
    ],
)
def test_added_and_changed_list_items_are_taken_out(
    original: list[Any],
    desired: list[Any],
    live: list[Any],
    merged: list[Any],
    touched: bool,
    ambiguous: bool,
) -> None:
    found = restore(http(*original), http(*desired), http(*live))
    assert (found.content, found.touched, found.ambiguous) == (
        http(*merged),
        bool(touched),
        bool(ambiguous),
    )


@pytest.mark.parametrize(
    ("original", "desired", "live", "merged", "touched"),
    [
        pytest.param({}, {"x": 1}, {}, {}, True, id="ours was removed"),
        pytest.param({"x": 1}, {}, {"x": 2}, {"x": 1}, True, id="what we removed was set anew"),
        pytest.param({"x": 1}, {"x": 2}, {}, {"x": 1}, True, id="what we changed was removed"),
        pytest.param({"x": 1}, {"x": 1}, {}, {}, False, id="what we left was removed"),
        pytest.param(
            {"x": 1}, {"x": 2}, {"x": 3}, {"x": 1}, True, id="what we changed was changed"
        ),
        pytest.param(
            {}, {"x": {"y": 1}}, {"x": {"y": 1, "z": 2}}, {}, False, id="defaults in what we made"
        ),
        pytest.param(
            {"x": 1}, {"x": [{"y": 1}]}, {"x": [{"y": 1, "z": 2}]}, {"x": 1}, False, id="in a list"
        ),
        pytest.param({}, {"x": {"y": 1}}, {"x": {"y": 2}}, {}, True, id="ours was changed inside"),
        pytest.param({"x": {}}, {"x": {"y": 1}}, {"x": {}}, {"x": {}}, True, id="ours was emptied"),
    ],
)
def test_added_and_changed_fields_are_taken_out(
    original: dict[str, Any],
    desired: dict[str, Any],
    live: dict[str, Any],
    merged: dict[str, Any],
    touched: bool,
) -> None:
    found = restore({"spec": original}, {"spec": desired}, {"spec": live})
    assert (found.content, found.touched) == ({"spec": merged}, touched)


def test_labels_of_others_survive_though_the_original_had_none() -> None:
    found = restore(
        {"spec": {}},
        {"spec": {}, "labels": {"ours": "1"}},
        {"spec": {}, "labels": {"ours": "1", "theirs": "2"}},
    )
    assert found == Restored({"labels": {"theirs": "2"}, "spec": {}})


def test_a_spec_that_vanished_is_ours_to_give_back() -> None:
    assert restore({"spec": {"a": 1}}, {"spec": {"a": 2}}, {}).content == {"spec": {"a": 1}}


def test_a_list_too_long_to_look_into_is_ambiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "MAX_CELLS", 3)
    found = restore(
        http({"a": 1}, {"b": 1}),
        http({"a": 2}, {"b": 2}),
        http({"a": 2, "c": 1}, {"b": 2, "c": 1}),
    )
    assert found.ambiguous
    assert found.content == http({"a": 1, "c": 1}, {"b": 1, "c": 1})


def test_elements_of_another_name_are_never_paired() -> None:
    assert align([{"name": "a", "x": 1}], [{"name": "b", "x": 1}], Likeness()).pairs == ()


@given(st.lists(values, max_size=6), st.lists(values, max_size=6))
def test_pairs_increase_on_both_sides(first: list[Any], second: list[Any]) -> None:
    pairs = align(first, second, Likeness()).pairs
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(pairs))
    assert all(i < len(first) and j < len(second) for i, j in pairs)


@given(st.lists(values, max_size=6))
def test_a_list_is_aligned_with_itself(items: list[Any]) -> None:
    assert align(items, copy.deepcopy(items), Likeness()).pairs == tuple(
        (i, i) for i in range(len(items))
    )


def score(one: Json, other: Json) -> float:
    likeness = Likeness()
    return likeness.score(likeness.node(one), likeness.node(other))


def test_likeness_looks_only_so_deep() -> None:
    deep: Json = {"a": {"a": {"a": {"a": {"a": 1, "b": 2}}}}}
    other: Json = {"a": {"a": {"a": {"a": {"a": 1, "b": 3}}}}}
    assert score(deep, other) == 0
    assert score(1, True) == score([], {}) == 0
    assert score([1, 2], [1, 3]) == score({"a": 1, "b": 2}, {"a": 1, "b": 3}) == 0.5


@given(values, values)
def test_likeness_distinguishes_equal_and_covered(one: Any, other: Any) -> None:
    likeness = Likeness()
    first, second = likeness.node(one), likeness.node(other)
    assert (first is second) == same(one, other)
    assert likeness.covers(first, second) == covers(one, other)
    assert likeness.covers(first, second) == covers(one, other)
    assert 0 <= likeness.score(first, second) <= 1


def test_fifty_rules_are_aligned_though_we_changed_every_one() -> None:
    original = [{"match": [f"/{n}"], "route": [{"to": "web"}]} for n in range(50)]
    desired = [{**rule, "route": [{"to": "web", "weight": n}]} for n, rule in enumerate(original)]
    live = [{"route": ["foreign"]}, *desired[:25], *desired[26:]]
    found = restore(http(*original), http(*desired), http(*live))
    assert found.content == http({"route": ["foreign"]}, *original)
    assert (found.touched, found.ambiguous) == (True, False)
