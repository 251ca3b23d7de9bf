"""The engine can read the output of `convert`: executed, it gives the input again."""

import re
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.cli.script_tools.cases import Case, read_case
from controller.cli.script_tools.convert import as_lua
from controller.cli.script_tools.engine import Engine
from controller.cli.script_tools.inputs import obj_of
from controller.cli.script_tools.lua_literal import lua_literal
from controller.cli.script_tools.script_folders import Subject, subject_at, subjects_in
from controller.domain.traffic.tree import Json, decode, encode
from controller.scripts.lookup import FOLDER, Script
from controller.scripts.script_outcome import Executed

# Surrogates are no text; a null inside is absent in Lua.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**50), 2**50) | st.floats(-1e6, 1e6) | TEXTS,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=4)
        | st.dictionaries(TEXTS, inner, min_size=1, max_size=4)
    ),
    max_leaves=12,
)


async def evaluated(engine: Engine, text: str) -> Json:
    script = Script("converted", text.encode(), "", "packaged")
    answer = await engine.execute(script, b"{}", tenant="t", request_id="r")
    assert isinstance(answer, Executed), answer
    return decode(answer.result)


async def test_every_packaged_case_reads_back(engine: Engine) -> None:
    for subject in subjects_in(FOLDER):
        for path in subject.cases():
            case = read_case(path, subject)
            assert isinstance(case, Case)
            await _reads_back(engine, subject, case)


def test_a_plain_lua_gets_the_paths_of_the_modules_in_order() -> None:
    subject = subject_at(FOLDER / "networking.istio.io" / "VirtualService" / "trafficRouting.lua")
    case = read_case(subject.cases()[0], subject)
    assert isinstance(case, Case)
    lines = re.findall(
        r'^--   (\w+) = dofile\("([^"]+)"\)$', as_lua(subject, subject.read(), case), re.M
    )
    names = [name for name, _ in lines]
    assert names == [module.name for module in subject.read().modules]
    assert names.index("shares") < names.index("weights") < names.index("istio")
    assert all(Path(path).is_file() for _, path in lines)


async def _reads_back(engine: Engine, subject: Subject, case: Case) -> None:
    script = subject.read()
    steps = await evaluated(engine, as_lua(subject, script, case) + "return steps")
    for step in case.steps:
        expected = obj_of(subject, script, case, step)
        assert steps[f"step_{step.number}"] == _without_empty(expected)  # type: ignore[index,call-overload]


def _without_empty(value: Any) -> Any:
    """An empty list is written as {}, like an empty object: Lua knows one empty table."""
    if isinstance(value, dict):
        return {key: _without_empty(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_empty(item) for item in value] or {}
    return value


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(tree=st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
async def test_any_tree_reads_back(engine: Engine, tree: dict[str, Json]) -> None:
    assert await evaluated(engine, f"return {lua_literal(tree)}") == decode(encode(tree))
