"""The script library: documented, typed for editors, and without access to anything but its arguments."""

import re
from pathlib import Path

import pytest

from controller.cli.script_tools.lint import WORLD
from controller.cli.script_tools.lua_syntax import syntax_of
from controller.domain.traffic.plan.header import parse_header
from controller.scripts.modules import Modules
from luaworker.wire import Module
from tests.unit.lua_configuration.cases import FOLDER
from tests.unit.lua_configuration.library_docs import (
    DOCUMENT,
    LIBRARY,
    TYPES,
    described,
    modules,
    types,
    with_section,
)
from tests.unit.luaworker.engine import run

FILES = sorted(LIBRARY.glob("*.lua"))
NAMES = [path.stem for path in FILES]


def test_the_document_and_the_types_agree_with_the_comments() -> None:
    text = DOCUMENT.read_text()
    assert text == with_section(text), "docs/script-library.md is out of date: make generate"
    assert TYPES.read_text() == types(), (
        "editors/lua/library/modules.lua is out of date: make generate"
    )


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_function_that_a_script_can_call_is_described(path: Path) -> None:
    text = path.read_text()
    found = described(path)
    assert found.description
    offered = re.findall(rf"^function {path.stem}\.(\w+)", text, re.MULTILINE)
    assert [function.name for function in found.functions] == offered
    for function in found.functions:
        assert function.description, function.name
        named = [name for name, _, _ in function.params]
        assert named == [name.strip() for name in function.arguments.split(",") if name.strip()]


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_module_reads_the_globals_that_it_requests_and_sets_none(path: Path) -> None:
    text = path.read_text()
    asked = set(parse_header(text).uses)
    uses = syntax_of(text.encode()).globals
    assert [use.name for use in uses if use.assigned] == []
    assert {use.name for use in uses} - WORLD == asked
    assert "obj" not in {use.name for use in uses}


@pytest.mark.parametrize("name", NAMES)
def test_a_module_loads_with_the_modules_sent_with_it(name: str) -> None:
    asked = Modules.read(FOLDER).asked_for((name,))
    assert isinstance(asked, tuple)
    travelling = tuple(Module(m.name.encode(), m.text, m.hidden) for m in asked)
    kinds = ", ".join(
        f"type({name}.{f.name})" for f in described(LIBRARY / f"{name}.lua").functions
    )
    answer = run(f"return {{{kinds}}}", modules=travelling)
    assert answer.message == b""
    assert set(answer.result.decode().strip("[]").split(",")) == {'"function"'}


def test_types_that_are_named_are_written_down() -> None:
    known = {
        name
        for path in TYPES.parent.glob("*.lua")
        for name in re.findall(r"@(?:class|alias) (moonshift\.\w+)", path.read_text())
    }
    named = set(re.findall(r"moonshift\.\w+", TYPES.read_text()))
    assert named <= known
    assert {module.name for module in modules()} == set(NAMES)
