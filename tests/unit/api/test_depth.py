"""The depth of a JSON text is found without walking through it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api import depth
from controller.api.depth import DEEPEST, is_too_deep

VALUES = st.recursive(
    st.text('[]{}\\"a') | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('[{"\\'), inner, max_size=3)
    ),
)


@given(VALUES, st.integers(DEEPEST - 2, DEEPEST + 2), st.booleans())
def test_brackets_count_and_brackets_in_texts_do_not(
    value: object, levels: int, as_objects: bool
) -> None:
    inner = 0
    text = json.dumps(["[" * 200, "}" * 200])
    for _ in range(levels - 1):
        text = f'{{"a": {text}}}' if as_objects else f"[{text}, {inner}]"
    assert is_too_deep(text.encode()) is (levels > DEEPEST)
    flat = json.dumps([value] * 200)
    assert not is_too_deep(flat.encode())


@given(VALUES, st.integers(1, 40))
def test_slices_without_texts_are_the_whole_without_texts(value: object, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(depth, "_SLICE", size)
        text = json.dumps({"a": value, "long": "[,{" * 50}).encode()
        parts = b"".join(depth.without_texts(text))
    whole = b"".join(depth.without_texts(text))
    assert parts == whole
    assert b"[,{" not in whole


@pytest.mark.parametrize("text", [b"", b"]" * 500, b'"' * 500, b"[" * 100_000, b"[]" * 10_000])
def test_any_text_is_judged(text: bytes) -> None:
    assert is_too_deep(text) is text.startswith(b"[[")
