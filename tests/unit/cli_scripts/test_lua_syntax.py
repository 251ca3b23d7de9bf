import pytest

from controller.cli.script_tools.lua_syntax import NotLua, syntax_of
from controller.scripts.lookup import ScriptLibrary


def starts(source: str) -> list[str]:
    """The text at each statement's beginning, up to the line's end."""
    return [source[item.offset :].split("\n")[0] for item in syntax_of(source.encode()).statements]


def lines(source: str) -> list[int]:
    return [item.line for item in syntax_of(source.encode()).statements]


def test_statements_begin_where_the_manual_says() -> None:
    source = """local a, b = 1, 'x' a = b c.d[1].e = f(g)
if a then return 1 elseif b then h() else i{1} end
for k, v in pairs(t) do j"k" end
for n = 1, 2 do break end
while true do l:m(function() return n end) end
repeat local z = 1 until z == 2
function o.p:q(r, ...) return ... end
local function s() end
do end
(function() end)()
return -a ^ 2 .. "b", not c"""
    assert starts(source) == [
        "local a, b = 1, 'x' a = b c.d[1].e = f(g)",
        "a = b c.d[1].e = f(g)",
        "c.d[1].e = f(g)",
        "if a then return 1 elseif b then h() else i{1} end",
        "return 1 elseif b then h() else i{1} end",
        "h() else i{1} end",
        "i{1} end",
        'for k, v in pairs(t) do j"k" end',
        'j"k" end',
        "for n = 1, 2 do break end",
        "break end",
        "while true do l:m(function() return n end) end",
        "l:m(function() return n end) end",
        "return n end) end",
        "repeat local z = 1 until z == 2",
        "local z = 1 until z == 2",
        "function o.p:q(r, ...) return ... end",
        "return ... end",
        "local function s() end",
        "do end",
        "(function() end)()",
        'return -a ^ 2 .. "b", not c',
    ]


def test_lines_count_through_long_strings_and_comments() -> None:
    assert lines("--[==[ a\n]] b\n]==] x = [[1\n2]] -- c\ny = 'a\\\nb'\nz = 1") == [3, 5, 7]


def test_a_first_line_with_a_hash_sign_is_skipped() -> None:
    assert lines("#!/usr/bin/lua\nreturn 1") == [2]


def test_a_name_that_no_local_declares_is_global() -> None:
    source = """local a = a
for i = 1, 2 do i = 3 end
b, c.d = 1, 2
local function f(x) x = y end
function g() return f end
function t.u() end
repeat local v until v
v = {w = x, [z] = 1}"""
    found = [(use.name, use.line, use.assigned) for use in syntax_of(source.encode()).globals]
    assert sorted(found) == [
        ("a", 1, False), ("b", 3, True), ("c", 3, False), ("g", 5, True), ("t", 6, False),
        ("v", 8, True), ("x", 8, False), ("y", 4, False), ("z", 8, False),
    ]  # fmt: skip


def test_a_call_of_a_global_name_is_told_apart() -> None:
    uses = syntax_of(b"f(g, h()) o.p() q:r{s} local t = t or f").globals
    called = {use.name for use in uses if use.called}
    assert called == {"f", "h"}
    assert {use.name for use in uses if not use.called} == {"g", "o", "q", "s", "t", "f"}


@pytest.mark.parametrize(
    "source",
    ["x =", "if a", "'open", "[[open", "--[[open", "end", "for 1"],
)
def test_text_that_cannot_be_read_is_refused(source: str) -> None:
    with pytest.raises(NotLua):
        syntax_of(source.encode())


def test_offsets_count_bytes() -> None:
    source = "x = 'é' y = 1".encode()
    assert [source[item.offset :][:1] for item in syntax_of(source).statements] == [b"x", b"y"]


def test_packaged_scripts_are_read_and_assign_no_globals() -> None:
    for script in ScriptLibrary.read().packaged:
        syntax = syntax_of(script.text)
        assert syntax.statements
        assert [use.name for use in syntax.globals if use.assigned] == []
