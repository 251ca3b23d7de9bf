import json
from typing import Any

import pytest
from hypothesis import given

from controller.api import names
from controller.domain.traffic.original.content import (
    content_of,
    read_original,
    strings_of,
    with_content,
    write_original,
)
from controller.domain.traffic.tree import Tree, same
from tests.unit.domain.traffic.json_trees import contents


@given(contents)
def test_a_stored_original_is_read_back(content: dict[str, Any]) -> None:
    assert same(read_original(write_original(content)), content)


def test_the_stored_form_is_the_originals_to_the_byte() -> None:
    content: Tree = {
        "annotations": {"virtual": "test"},
        "spec": {"http": [{"route": [{"destination": {"host": "e"}}]}], "hosts": ["<e>"]},
    }
    assert write_original(content) == (
        '{"spec":{"hosts":["\\u003ce\\u003e"],"http":[{"route":[{"destination":{"host":"e"}}]}]},'
        '"annotations":{"virtual":"test"}}'
    )


def test_unknown_fields_and_big_numbers_survive() -> None:
    text = '{"spec":{"deep":{"of":[{"a":null},[],{}]},"priority":9223372036854774784}}'
    assert write_original(read_original(text) or {}) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"spec":[]}',
        '{"labels":[]}',
        '{"spec":{},"annotations":{"a":1}}',
        '{"labels":{}}',
    ],
)
def test_a_malformed_original_is_not_accepted(text: str) -> None:
    assert read_original(text) is None


def test_nulls_count_as_absent() -> None:
    assert read_original('{"spec":{"a":1},"labels":null}') == {"spec": {"a": 1}}


def live() -> dict[str, Any]:
    return {
        "apiVersion": "x/v1",
        "kind": "K",
        "metadata": {
            "name": "n",
            "labels": {"l": "1"},
            "annotations": {"a": "1", names.ORIGINAL_SPEC: "…", names.ROUTE_STATE: "…"},
            "finalizers": ["f"],
        },
        "spec": {"old": True},
        "status": {"s": 1},
    }


def test_the_content_is_without_our_annotations() -> None:
    assert content_of(live()) == {
        "spec": {"old": True},
        "labels": {"l": "1"},
        "annotations": {"a": "1"},
    }
    assert content_of({"metadata": None}) == {}


def test_only_the_content_of_an_object_changes() -> None:
    changed = json.loads(with_content(live(), {"spec": {"new": 1}}, {names.ROUTE_STATE: "r"}))
    assert changed == {
        "apiVersion": "x/v1",
        "kind": "K",
        "metadata": {
            "name": "n",
            "annotations": {names.ROUTE_STATE: "r"},
            "finalizers": ["f"],
        },
        "spec": {"new": 1},
        "status": {"s": 1},
    }


def test_an_object_without_spec_and_metadata_gets_neither_twice() -> None:
    assert json.loads(with_content({"kind": "K"}, {}, {})) == {"kind": "K", "metadata": {}}


def test_only_strings_are_strings() -> None:
    assert strings_of({"a": "b", "c": 1}) == {"a": "b"}
    assert strings_of(None) == {}
