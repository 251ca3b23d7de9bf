"""A structural schema judges any JSON in the API server's words."""

import pytest

from controller.api.jsontree import JsonObject
from controller.api.schema import problems

FEW: JsonObject = {"type": "array", "minItems": 1, "items": {"type": "boolean"}}


@pytest.mark.parametrize(
    ("value", "schema", "found"),
    [
        (None, {"type": "string", "nullable": True}, ()),
        (None, {"type": "string"}, (": Required value",)),
        ([None], FEW, ("[0]: Required value",)),
        ([], FEW, (": Invalid value: it should have at least 1 items",)),
        ({}, {"type": "string"}, (": Invalid value: must be of type string, not an object",)),
        ([], {"type": "string"}, (": Invalid value: must be of type string, not a list",)),
        (
            "",
            {"type": "string", "minLength": 1},
            (": Invalid value: it should have at least 1 characters",),
        ),
        (True, {"type": "integer"}, (": Invalid value: must be of type integer, not true",)),
        (
            2**31,
            {"type": "integer", "format": "int32"},
            (": Invalid value: 2147483648 should be at most 2147483647",),
        ),
        (0, {"type": "integer", "minimum": 1}, (": Invalid value: 0 should be at least 1",)),
    ],
)
def test_a_value_is_judged_in_the_api_servers_words(
    value: object, schema: JsonObject, found: tuple[str, ...]
) -> None:
    assert problems(value, schema) == found


PERSON: JsonObject = {
    "type": "object",
    "required": ["name", "kind"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 4},
        "kind": {"type": "string", "default": "a", "enum": ["a", "b"]},
        "share": {"x-kubernetes-int-or-string": True, "pattern": "^[0-9]+%$", "maximum": 9},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "gos": {"type": "string", "pattern": "(?P<x"},
        "list": {"type": "array", "maxItems": 1, "items": {"type": "number"}},
    },
}


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, ()),
        ({"kind": "b", "share": 5, "list": [1.5]}, ()),
        ({"kind": None, "share": None}, ()),
        ({"labels": {"a": "b"}, "any": {"c": [{}]}, "gos": "x", "share": "5%"}, ()),
        ({"name": None}, ("name: Required value",)),
        ({"colour": 1}, ('unknown field "colour"',)),
        ({"labels": {"a": 1}}, ("labels.a: Invalid value: must be of type string, not 1",)),
        ({"labels": {"a": None}}, ("labels.a: Required value",)),
        ({"kind": "c"}, ('kind: Unsupported value: "c": supported values: "a", "b"',)),
        ({"name": "A"}, ("name: Invalid value: \"A\" should match '^[a-z]+$'",)),
        ({"name": "abcde"}, ("name: Too long: it may have at most 4 characters",)),
        ({"share": "x"}, ("share: Invalid value: \"x\" should match '^[0-9]+%$'",)),
        ({"share": 10}, ("share: Invalid value: 10 should be at most 9",)),
        ({"share": 1.5}, ("share: Invalid value: must be of type integer or string, not 1.5",)),
        ({"list": [1, 2]}, ("list: Too long: it may have at most 1 items",)),
    ],
)
def test_the_fields_of_an_object_are_judged_each_by_its_own_schema(
    fields: JsonObject, found: tuple[str, ...]
) -> None:
    assert problems({"name": "web", **fields}, PERSON) == found


def test_the_end_of_a_whole_number_with_a_point_is_no_mistake() -> None:
    assert problems(2.0, {"type": "integer"}) == ()
