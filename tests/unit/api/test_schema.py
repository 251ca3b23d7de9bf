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
