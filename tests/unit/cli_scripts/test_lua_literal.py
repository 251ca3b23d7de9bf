import pytest

from controller.cli.script_tools.lua_literal import lua_key, lua_literal, lua_string
from controller.domain.traffic.tree import Json


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("name", "name"),
        ("_x1", "_x1"),
        ("user-agent", '["user-agent"]'),
        ("istio.service.tag", '["istio.service.tag"]'),
        ("end", '["end"]'),
        ("1a", '["1a"]'),
        ("", '[""]'),
        ("é", '["é"]'),
        ("a\n", '["a\\n"]'),
    ],
)
def test_keys_are_quoted_where_lua_wants_it(key: str, text: str) -> None:
    assert lua_key(key) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nil"),
        (True, "true"),
        (-1, "-1"),
        (12.5, "12.5"),
        ([], "{}"),
        ([1, None, 2], "{ 1, 2 }"),
        ({"b": 1, "a": None, "c": []}, "{ b = 1, c = {} }"),
    ],
)
def test_values_have_the_form_that_scripts_get(value: Json, text: str) -> None:
    assert lua_literal(value) == text


def test_control_characters_never_run_into_digits() -> None:
    assert lua_string('a"\\\x001\x7f') == '"a\\"\\\\\\0001\\127"'


def test_a_literal_beyond_the_line_length_is_broken() -> None:
    assert lua_literal({"k": ["x" * 40, "y" * 40]}) == (
        "{\n  k = {\n    " + f'"{"x" * 40}",\n    "{"y" * 40}",\n' + "  },\n}"
    )
