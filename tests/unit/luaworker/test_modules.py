"""Modules of the script library in the state of a call."""

import json
from pathlib import Path

import pytest

from luaworker.codes import Code
from luaworker.sandbox import LIBRARY, CompiledFiles
from luaworker.wire import Module
from tests.unit.luaworker.engine import result, run

ADD = Module(b"sums", b"local sums = {}\nfunction sums.add(a, b)\n  return a + b\nend\nreturn sums")
REFUSE = Module(
    b"rules",
    b"return {\n  check = function(x)\n    if x < 0 then\n      error('no lane is that narrow')\n    end\n"
    b"    return x + 1\n  end,\n  apply = function(f) return (f()) end,\n}",
)


def test_a_module_is_a_global_table_of_functions() -> None:
    answer = run("return {sums.add(1, 2), type(sums)}", modules=(ADD,))
    assert json.loads(answer.result) == [3, "table"]


def test_a_script_without_modules_sees_unchanged_globals() -> None:
    names = "local n = {} for name in pairs(_G) do n[#n + 1] = name end return n"
    assert result(names) == run(names).result
    assert b"sums" not in result(names)
    assert b"tables" not in result(names)


def test_a_module_finds_the_ones_before_it_and_a_hidden_one_is_not_the_scripts() -> None:
    outer = Module(b"outer", b"return {three = function() return sums.add(1, 2) end}")
    hidden = Module(ADD.name, ADD.text, hidden=True)
    answer = run("return {outer.three(), sums == nil}", modules=(hidden, outer))
    assert json.loads(answer.result) == [3, True]


def test_nothing_can_be_set_in_a_module() -> None:
    answer = run("\nsums.add = nil return {}", modules=(ADD,))
    assert answer.code is Code.RUNTIME_ERROR
    assert answer.message == b"s:2: the module sums is read only: nothing can be set in it"
    assert run("return {getmetatable(sums)}", modules=(ADD,)).result == b"[false]"


def test_a_module_does_not_see_the_globals_that_a_script_makes() -> None:
    curious = Module(b"curious", b"return {look = function() return {obj == nil, mine == nil} end}")
    assert run("mine = 1 return curious.look()", modules=(curious,)).result == b"[true,true]"


def test_a_refusal_of_the_library_is_reported_with_the_scripts_line() -> None:
    answer = run("local x = 1\nx = rules.check(-1)\nreturn {}", modules=(REFUSE,))
    assert (answer.message, answer.line) == (b"s:2: no lane is that narrow", 2)
    assert answer.traceback.splitlines()[0] == b"library/rules:4: in function check"
    assert answer.traceback.splitlines()[1] == b"s:2: in main chunk"


def test_an_error_in_the_library_is_reported_with_both_lines() -> None:
    answer = run("\n\nrules.check(nil)\nreturn {}", modules=(REFUSE,))
    text = b"s:3: attempt to compare nil with number (in library/rules:3)"
    assert (answer.message, answer.line) == (text, 3)
    answer = run("\nrules.check('x')\nreturn {}", modules=(REFUSE,))
    assert b"(in library/rules:3)" in answer.message


def test_an_error_in_a_function_passed_to_the_library_is_the_scripts_own() -> None:
    answer = run("rules.apply(function()\n  error('mine')\nend)\nreturn {}", modules=(REFUSE,))
    assert (answer.message, answer.line) == (b"s:2: mine", 2)


def test_an_error_without_a_known_line_is_reported_without_a_line() -> None:
    answer = run("return rules.check(-1)", modules=(REFUSE,))
    assert answer.message == b"s: no lane is that narrow"


@pytest.mark.parametrize(
    ("module", "code", "message"),
    [
        (Module(b"bad", b"\nx = ="), Code.SYNTAX_ERROR,
         b"s: the module bad does not compile: library/bad:2: unexpected symbol near '='"),
        (Module(b"bad", b"\x1bLua"), Code.SYNTAX_ERROR,
         b"s: the module bad is a binary chunk, which is not accepted"),
        (Module(b"bad", b"return 1"), Code.RUNTIME_ERROR, b"the module bad returns no table of functions"),
        (Module(b"table", b"return {}"), Code.BAD_INPUT, b"s: every script has a table: no module can have that name"),
        (Module(b"obj", b"return {}"), Code.BAD_INPUT, b"s: every script has a obj: no module can have that name"),
    ],
)  # fmt: skip
def test_a_module_that_is_none_is_refused(module: Module, code: Code, message: bytes) -> None:
    answer = run("return {}", modules=(module,))
    assert (answer.code, answer.message) == (code, message)


def test_our_own_modules_are_compiled_before_any_call_and_answer_as_if_they_were_not() -> None:
    text = (Path(LIBRARY) / "tables.lua").read_bytes()
    script = b"return tables.copy(obj)"
    kits = (CompiledFiles(), CompiledFiles(library=None))
    answers = [
        kit.build().run(script, b"s", b'{"a":[1]}', 60_000, 1000, (Module(b"tables", text),))
        for kit in kits
    ]
    assert [answer.result for answer in answers] == [b'{"a":[1]}'] * 2
    assert {name for name, known in kits[0].compiled if known == text} == {b"tables"}
    assert kits[1].compiled == frozenset()


@pytest.mark.parametrize("stocked", [False, True])
def test_our_own_modules_answer_alike_by_name_by_text_and_from_stock(stocked: bool) -> None:
    text = (Path(LIBRARY) / "tables.lua").read_bytes()
    script = b"return {tables.copy(obj), tostring(tables), pcall(tables.copy, 1, 2, 3)}"
    kit = CompiledFiles()
    sent = (Module(b"tables", text), Module(b"tables", b"", ours=True))
    answers = {
        kit.build(stocked=stocked).run(script, b"s", b'{"a":[1]}', 60_000, 1000, (module,))
        for module in sent
    }
    (answer,) = answers
    assert answer.result.startswith(b'[{"a":[1]},"table: 0x0001",')


def test_somebody_elses_module_of_a_name_of_ours_is_not_taken_from_stock() -> None:
    module = Module(b"tables", b"return {mine = function() return true end}")
    answer = (
        CompiledFiles()
        .build(stocked=True)
        .run(b"return {tables.mine()}", b"s", b"{}", 60_000, 99, (module,))
    )
    assert answer.result == b"[true]"


def test_our_text_under_another_name_is_compiled_under_that_name() -> None:
    text = (Path(LIBRARY) / "tables.lua").read_bytes()
    answer = run("other.put(nil, 1)\nreturn {}", modules=(Module(b"other", text),))
    assert b"library/other:" in answer.message
