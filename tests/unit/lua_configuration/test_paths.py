"""The library's paths: the common part of two is given only where it is true of every request.

Every pair of the paths below is compared by the module, and judged here by matching requests: a path that both are said
to have in common fits exactly the requests that fit both; of two that are said to be apart, none fits both. Where
the module cannot decide, it gives no answer.
"""

import itertools
import json
import re
from typing import Any

import pytest

from controller.scripts.modules import Modules
from luaworker.wire import Module
from tests.unit.lua_configuration.cases import FOLDER
from tests.unit.luaworker.engine import run

PLACES = ("/", "/a", "/a/", "/ab", "/a/b", "/a/b/c", "/a.b", "/b", "/a/b/1", "/x/a")
EXPRESSIONS = (
    "/a/.*",
    "/a.*",
    "/a(/.*)?",
    "^/a/b$",
    "/a/b|/b",
    "/a/(b|c)",
    "/a/[bc]",
    "/a/b?",
    "/a/b*",
    "/a/b+",
    r"/a\.b",
    "/a.b",
    ".*",
    r"/a/b/\d",
    "/a(b)?",
)
PATHS = [
    *(
        {"type": kind, "value": place}
        for kind in ("Exact", "PathPrefix", "Text")
        for place in PLACES
    ),
    *({"type": "RegularExpression", "value": value} for value in EXPRESSIONS),
]
REQUESTS = (
    "/",
    "/a",
    "/a/",
    "/ab",
    "/abc",
    "/a/b",
    "/a/b/",
    "/a/bb",
    "/a/b/c",
    "/a/b/c/d",
    "/a/b/1",
    "/a/c",
    "/a.b",
    "/a.b/c",
    "/axb",
    "/b",
    "/b/a",
    "/x/a",
    "/x/a/y",
)
COMPARED = """
local result = {}
for _, pair in ipairs(json.decode(PAIRS)) do
    local told, common = pcall(paths.common, pair[1], pair[2])
    table.insert(result, {
        told = told, common = told and common or nil,
        apart = paths.apart(pair[1], pair[2]), inside = paths.inside(pair[1], pair[2]),
    })
end
return result
"""
Place = dict[str, str]


def fits(place: Place, request: str) -> bool:
    """The meaning of a path."""
    value = place["value"]
    if place["type"] == "Exact":
        return request == value
    if place["type"] == "Text":
        return request.startswith(value)
    if place["type"] == "PathPrefix":
        bare = value.rstrip("/")
        return request == bare or request.startswith(f"{bare}/")
    return re.fullmatch(value, request) is not None


def asked(script: str) -> Any:
    """The answer of a script that has the module."""
    found = Modules.read(FOLDER).asked_for(("paths",))
    assert isinstance(found, tuple)
    modules = tuple(Module(m.name.encode(), m.text, m.hidden) for m in found)
    answer = run(script, modules=modules)
    assert answer.message == b""
    return json.loads(answer.result)


def test_what_two_paths_have_in_common_is_true_of_every_request() -> None:
    pairs = list(itertools.product(PATHS, PATHS))
    told = 0
    for start in range(0, len(pairs), 500):
        part = pairs[start : start + 500]
        script = f"local PAIRS = [==[{json.dumps(part)}]==]\n{COMPARED}"
        for (own, wanted), said in zip(part, asked(script), strict=True):
            both = {one for one in REQUESTS if fits(own, one) and fits(wanted, one)}
            if said["apart"]:
                assert not both, (own, wanted)
            if said["inside"]:
                assert both == {one for one in REQUESTS if fits(own, one)}, (own, wanted)
            if said["told"]:
                common = said.get("common")
                found = {one for one in REQUESTS if common and fits(common, one)}
                assert found == both, (own, wanted, common)
                told += 1
            else:
                assert "RegularExpression" in {own["type"], wanted["type"]}
    assert told > len(pairs) * 0.8


@pytest.mark.parametrize(
    ("kind", "text", "own", "part", "expected"),
    [
        ("PathPrefix", "/", "/smart", "/smart/new", "/new"),
        ("PathPrefix", "/app/", "/smart/", "/smart/new/", "/app/new"),
        ("PathPrefix", "/", "/smart", "/smart/", "/"),
        ("PathPrefix", "/app", "/", "/new", "/app/new"),
        ("Text", "/", "/smart/", "/smart/new", "/new"),
        ("Text", "/app", "/smart", "/smarter", "/apper"),
        ("Text", "/app", "/", "/new", "/appnew"),
    ],
)
def test_a_replacement_grows_by_what_the_part_has_more(
    kind: str, text: str, own: str, part: str, expected: str
) -> None:
    given = json.dumps([text, {"type": kind, "value": own}, {"type": kind, "value": part}])
    script = f"return {{paths.replacement(unpack(json.decode([==[{given}]==])))}}"
    assert asked(script) == [expected]
