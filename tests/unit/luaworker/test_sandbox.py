"""The world that a script sees."""

import json

import pytest

from luaworker.script_names import NAME_BYTES, shown_name
from tests.unit.luaworker.engine import result, run


def test_pairs_is_sorted_numbers_first() -> None:
    script = (
        "local t, seen = {zeta = 1, [2] = 1, alpha = 1, [1] = 1, [10] = 1}, {} "
        "for k in pairs(t) do seen[#seen + 1] = k end return seen"
    )
    assert json.loads(result(script)) == [1, 2, 10, "alpha", "zeta"]


def test_deleting_while_walking_is_safe() -> None:
    script = (
        "local t = {a = 1, b = 2, c = 3} for k in pairs(t) do t[k] = nil t.c = nil end return t"
    )
    assert result(script) == b"{}"


@pytest.mark.parametrize(
    ("expression", "text"),
    [("tostring(1e15)", "1000000000000000"), ("tostring(2^53)", "9007199254740992"),
     ("tostring({})", "table: 0x0001"), ("string.format('%s|%5d|%%|%s', nil, 3, true)", "nil|    3|%|true"),
     ("string.format('%s', 1e15)", "1000000000000000"), ("('%d'):format(3.0)", "3"),
     ("tostring(setmetatable({}, {__tostring = function() return 'own' end}))", "own")],
)  # fmt: skip
def test_text_of_values_is_that_of_the_original(expression: str, text: str) -> None:
    assert json.loads(result(f"return {{{expression}}}")) == [text]


def test_lua_51_names_are_there() -> None:
    script = (
        "return {table.getn({1,2}), #{unpack({1,2,3})}, math.mod(7, 4), _VERSION, #table.create(3)}"
    )
    assert json.loads(result(script)) == [2, 3, 3, "Lua 5.1", 0]


def test_loaded_chunks_run_in_the_same_world() -> None:
    script = "return {loadstring('return os == nil and obj.a')(), load(function() end) ~= nil}"
    assert json.loads(result(script, b'{"a":7}')) == [7, True]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("\nstring.rep()", b"s:2: bad argument #1 to 'rep' (string expected, got nil)"),
        ("\n\npairs(nil)", b"s:3: bad argument #1 to 'pairs' (table expected, got nil)"),
        ("error('plain', 0)", b"plain"),
        ("error({})", b"error object is a table value"),
        ("error()", b"error object is a nil value"),
        ("error(42)", b"s:1: 42"),
        ("error(42, 0)", b"42"),
        ("local t = setmetatable({}, {__index = function(_, k) error('no ' .. k) end}) t.x()", b"s:1: no x"),
    ],
)  # fmt: skip
def test_errors_blame_the_scripts_line(script: str, message: bytes) -> None:
    answer = run(script)
    assert answer.code.name == "RUNTIME_ERROR"
    assert answer.message == message


def test_an_endless_recursion_is_an_error_whose_trace_is_short() -> None:
    answer = run("local function f() return 1 + f() end return f()")
    assert b"stack overflow" in answer.message
    assert answer.traceback == b"s:1: in function f"


def test_a_long_message_is_cut() -> None:
    assert len(run("error(('x'):rep(1e6))").message) == 4096


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("lua.traffic.routing.X.y", b"lua.traffic.routing.X.y"),
        ("", b"script"),
        ("a\nb\0c", b"a?b?c"),
        ("x" * 100, b"..." + b"x" * (NAME_BYTES - 3)),
        ("é" * 100, b"..." + "é".encode() * 26),
    ],
)
def test_names_fit_the_engine_and_keep_their_lines(name: str, shown: bytes) -> None:
    assert shown_name(name) == shown
    answer = run("\nx(", None, name=shown)
    assert (answer.code.name, answer.line) == ("SYNTAX_ERROR", 2)
    assert answer.message.startswith(shown + b":2: ")
