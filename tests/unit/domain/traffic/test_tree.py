import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.traffic.tree import (
    MAX_DEPTH,
    Tree,
    covers,
    decode,
    decode_tree,
    encode,
    same,
)

from .json_trees import values


@given(values)
def test_reading_a_written_value_gives_the_same_value(value: object) -> None:
    assert same(decode(encode(value)), value)  # type: ignore[arg-type]  # any JSON


@pytest.mark.parametrize(
    "text",
    ["9007199254740993", "18446744073709551616", "[]", "{}", "[{}]", "0.25", "null", '{"a":null}'],
)
def test_nothing_is_lost(text: str) -> None:
    assert encode(decode(text.encode())) == text.encode()


@pytest.mark.parametrize(
    ("read", "written"),
    [("1.0", "1"), ("1e3", "1000"), ("1e21", "1e+21"), ('"<a&b>"', r'"\u003ca\u0026b\u003e"')],
)
def test_bytes_are_printed_as_by_go(read: str, written: str) -> None:
    assert encode(decode(read.encode())) == written.encode()


def test_line_separators_are_escaped_and_other_letters_are_not() -> None:
    assert encode("\u2028\u2029ä") == b'"\\u2028\\u2029\xc3\xa4"'


def test_half_a_character_does_not_stop_writing() -> None:
    assert encode(decode(b'"\\ud800"')) == b'"?"'


def test_keys_are_sorted_but_the_outermost_may_stay() -> None:
    value: Tree = {"b": {"d": 1, "c": 2}, "a": 3}
    assert encode(value) == b'{"a":3,"b":{"c":2,"d":1}}'
    assert encode(value, sort=False) == b'{"b":{"c":2,"d":1},"a":3}'
    assert encode([value], sort=False) == encode([value])


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"NaN", b"[Infinity]", b"1e400", b"\xff", b"[" * 5000 + b"]" * 5000],
)
def test_malformed_json_is_a_value_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(raw)


def test_nesting_has_a_limit() -> None:
    deep = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert decode(deep)
    with pytest.raises(ValueError, match="deeper"):
        decode(b"[" + deep + b"]")
    wide = b"[" + b",".join([b'{"a":[1]}'] * MAX_DEPTH) + b"]"
    assert decode(wide)


def test_a_tree_is_an_object() -> None:
    with pytest.raises(ValueError, match="object"):
        decode_tree(b"[]")


def test_a_boolean_differs_from_a_number() -> None:
    assert not same({"a": True}, {"a": 1})
    assert not same([0], [False])
    assert same({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]})


@pytest.mark.parametrize(
    ("live", "wanted", "covered"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 1}]}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {"a": True}, False),
        (1, {"a": 1}, False),
        ({"a": 1}, [1], False),
    ],
)
def test_additions_in_objects_are_covered(live: object, wanted: object, covered: bool) -> None:
    assert covers(live, wanted) == covered  # type: ignore[arg-type]  # any JSON


@given(st.text())
def test_any_text_survives(text: str) -> None:
    assert json.loads(encode(text)) == text
