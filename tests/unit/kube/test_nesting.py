"""Only those parts of a JSON text that are nested too deeply are left out; all others keep every byte."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.depth import DEEPEST
from controller.kube.nesting import Read, is_outline, outlined, read_around

LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.text())
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30
)
read_any = msgspec.json.Decoder().decode


def nested(levels: int, inside: str = "") -> str:
    """Lists and objects in turn."""
    opened = "".join("[" if level % 2 else '{"a":' for level in range(levels))
    closed = "".join("]" if level % 2 else "}" for level in reversed(range(levels)))
    return opened + (inside or "1") + closed


@given(VALUES, st.sampled_from([None, 2]))
def test_a_text_that_is_not_too_deep_keeps_every_byte(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent).encode()
    assert outlined(text) == text
    assert (
        outlined(json.dumps(value, ensure_ascii=False).encode())
        == json.dumps(value, ensure_ascii=False).encode()
    )


@given(VALUES, st.integers(DEEPEST - 3, DEEPEST + 3))
def test_what_is_left_is_json_and_what_is_above_the_limit_is_there(value: Any, levels: int) -> None:
    beside = json.dumps(value)
    text = f'{{"first":{beside},"deep":{nested(levels)},"last":{beside}}}'.encode()
    read = json.loads(outlined(text))
    assert (read["first"], read["last"]) == (value, value)
    assert (outlined(text) == text) is (levels < DEEPEST)


@pytest.mark.parametrize("levels", [DEEPEST, 1_000, 9_999])
def test_any_depth_can_be_read_afterwards(levels: int) -> None:
    text = f'[{nested(levels)}, {nested(levels, nested(3))}, "[[[{{", 5]'.encode()
    assert read_any(outlined(text))[2:] == ["[[[{", 5]


@pytest.mark.parametrize(
    "text",
    ["[" * 5_000, "]" * 5_000, '["' + "[" * 5_000, "[[1]", "", nested(5_000)[:-1]],
    ids=["unclosed", "unopened", "unfinished text", "a bracket too few", "nothing", "cut off"],
)
async def test_a_broken_text_is_refused_and_nothing_else(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        await read_around(read_any, text.encode())


async def test_only_the_item_that_is_too_deep_is_an_outline() -> None:
    text = f'[{{"name":"a"}}, {{"name":"b","deep":{nested(3_000)}}}, {{"name":"c"}}]'.encode()
    read = await read_around(msgspec.json.Decoder(list[msgspec.Raw]).decode, text)
    assert not read.whole
    assert [is_outline(item) for item in read.value] == [False, True, False]
    assert msgspec.json.decode(read.value[1])["name"] == "b"


async def test_a_large_text_is_read_as_well() -> None:
    text = f"[{', '.join([nested(3_000)] * 20)}]".encode()
    read = await read_around(read_any, text)
    assert len(read.value) == 20
    assert not read.whole


async def test_an_honest_text_is_read_as_it_is() -> None:
    assert await read_around(read_any, b"[1]") == Read([1], True)
