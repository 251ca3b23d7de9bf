"""Whatever a text is, its reader raises one exception."""

from collections.abc import Callable

import msgspec
import pytest

from controller.api.decoding import decoded, reader_of

DEEP = "[" * 5_000 + "]" * 5_000


@pytest.mark.parametrize("read", [lambda text: decoded(text, object), reader_of(object)])
def test_a_value_that_is_nested_too_deeply_cannot_be_decoded(
    read: Callable[[str], object],
) -> None:
    assert read("[[1]]") == [[1]]
    with pytest.raises(msgspec.DecodeError, match="too deeply"):
        read(DEEP)


@pytest.mark.parametrize("text", ["", "{", '{"a": 1}', DEEP])
def test_a_text_without_a_value_of_the_type_cannot_be_decoded(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        decoded(text, int)
