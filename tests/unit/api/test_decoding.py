"""Whatever a text is, its reader raises one exception."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from controller.api.decoding import decoded, reader_of, shallow_reader_of
from controller.api.meta import ObjectMeta
from controller.api.networking import Service
from controller.api.rollout import Rollout
from controller.api.workloads import Deployment

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


@pytest.mark.parametrize("read", [lambda text: decoded(text, object), reader_of(object)])
@pytest.mark.parametrize("text", [b'"\xff"', b'{"a": "\xed\xa0\x80"}', '"\ud800"', b'"\\ud800"'])
def test_a_value_that_is_no_unicode_text_cannot_be_decoded(
    read: Callable[[str | bytes], object], text: str | bytes
) -> None:
    with pytest.raises(msgspec.DecodeError):
        read(text)


def test_a_null_beside_a_value_that_is_no_unicode_text_cannot_be_decoded_either() -> None:
    with pytest.raises(msgspec.DecodeError, match="no text in UTF-8"):
        decoded(b'{"labels": null, "unknown": "\xff"}', ObjectMeta)


READERS = [
    decoded,
    lambda text, kind: reader_of(kind)(text),
    lambda text, kind: shallow_reader_of(kind)(text),
]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("kind", [Service, Deployment, Rollout])
@pytest.mark.parametrize("field", ["labels", "annotations", "ownerReferences", "finalizers"])
def test_a_null_counts_as_a_field_that_is_left_out(
    read: Callable[[str, type], Any], kind: type, field: str
) -> None:
    found = read(f'{{"metadata": {{"name": "web", "{field}": null}}}}', kind)
    assert found == read('{"metadata": {"name": "web"}}', kind)


def test_a_null_where_one_is_allowed_stays_one() -> None:
    assert decoded('{"a": [null, {"b": null}]}', object) == {"a": [None, {"b": None}]}


def test_another_mistake_beside_a_null_is_still_one() -> None:
    with pytest.raises(msgspec.ValidationError, match="labels"):
        decoded('{"annotations": null, "labels": 1}', ObjectMeta)
