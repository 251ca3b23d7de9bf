"""The linter through the real worker."""

from pathlib import Path

import pytest

from controller.cli.script_tools.engine import Engine, private_worker
from controller.cli.script_tools.lint import lint
from controller.cli.script_tools.remark import Finding
from controller.cli.script_tools.script_folders import subject_at, subjects_in
from controller.scripts.lookup import FOLDER
from tests.unit.cli_scripts.folders import SPLIT, case, make_folder, split

STEP = {"traffic": "20%"}
ONE = case(STEP, expected=[split(20)])


async def findings(engine: Engine, tmp_path: Path, script: str) -> list[Finding]:
    return await lint(engine, subject_at(make_folder(tmp_path, script, one=ONE)))


async def test_packaged_scripts_have_no_errors(engine: Engine) -> None:
    for subject in subjects_in(FOLDER):
        found = await lint(engine, subject)
        assert [item for item in found if item.severity == "error"] == []


async def test_a_good_script_has_no_findings(engine: Engine, tmp_path: Path) -> None:
    assert await findings(engine, tmp_path, SPLIT) == []


@pytest.mark.parametrize(
    ("script", "line", "message"),
    [
        pytest.param("--@can weight\nx = = 1\n", 2, "unexpected symbol", id="syntax"),
        pytest.param(
            SPLIT.replace("obj.canaryService", "'ghost'"), 6, "leads to ghost", id="invented host"
        ),
        pytest.param(SPLIT.replace("obj.stableWeight", "-5"), 6, "has the weight -5", id="weights"),
        pytest.param(
            SPLIT.replace("weight", "weight,header", 1),
            1,
            "--@can header does not hold",
            id="claim",
        ),
        pytest.param("--@can weight\nreturn obj.data\n", 1, "changes nothing", id="no change"),
        pytest.param(
            "--@can weight\nif obj.canaryWeight > 30 then error('too much') end\n"
            + SPLIT.split("\n", 1)[1],
            1,
            "40 %: failed in line 2: too much",
            id="a share is refused",
        ),
    ],
)
async def test_errors_have_their_line(
    engine: Engine, tmp_path: Path, script: str, line: int, message: str
) -> None:
    found = [item for item in await findings(engine, tmp_path, script) if item.severity == "error"]
    assert any(item.line == line and message in item.message for item in found), found


async def test_a_rule_of_somebody_else_that_is_lost_is_an_error(
    engine: Engine, tmp_path: Path
) -> None:
    content = case(STEP, expected=[])
    lanes = [
        {"path": "/help", "services": [{"name": "help"}]},
        *content["original"]["spec"]["lanes"],
    ]
    content["original"] = {**content["original"], "spec": {"lanes": lanes}}
    script = "--@can weight\ntable.remove(obj.data.spec.lanes, 1)\n" + SPLIT.split("\n", 1)[1]
    found = await lint(engine, subject_at(make_folder(tmp_path, script, one=content)))
    assert any("lost a rule in spec.lanes" in item.message for item in found), found


UNORDERED = """--@can weight
local places = {}
for place = 1, 40 do places[{}] = place end
local order = {}
for _, place in pairs(places) do table.insert(order, place) end
obj.data.spec.order = order
"""


async def test_an_answer_that_depends_on_the_place_of_tables_in_memory_is_an_error(
    tmp_path: Path,
) -> None:
    script = UNORDERED + SPLIT.split("\n", 1)[1]
    async with private_worker(workers=2) as engine:
        found = await findings(engine, tmp_path, script)
        sound = await findings(engine, tmp_path / "sound", SPLIT)
    assert any(
        item.severity == "error" and item.line > 1 and "two different answers" in item.message
        for item in found
    ), found
    assert sound == []


async def test_globals_are_notes(engine: Engine, tmp_path: Path) -> None:
    script = SPLIT.replace("local lane", "lane") + "-- end\n"
    found = await findings(
        engine, tmp_path, script.replace("service.weight =", "local _ = os\nservice.weight =")
    )
    assert found == [
        Finding(2, "note", "assigns the global lane; local keeps it here"),
        Finding(4, "note", "reads the global os, which nobody sets"),
    ]


async def test_a_call_of_a_global_that_nobody_sets_is_an_error(
    engine: Engine, tmp_path: Path
) -> None:
    asked_for = "if log then log(obj) end\nservice.weight ="
    asked = SPLIT.replace("service.weight =", asked_for)
    (note,) = await findings(engine, tmp_path / "a", asked)
    assert (note.severity, note.message) == ("note", "reads the global log, which nobody sets")
    called = SPLIT.replace("service.weight =", "if false then logg(obj) end\nservice.weight =")
    (error,) = await findings(engine, tmp_path / "b", called)
    assert (error.severity, error.message) == ("error", "calls the global logg, which nobody sets")


async def test_unknown_words_are_notes(engine: Engine, tmp_path: Path) -> None:
    found = await findings(
        engine,
        tmp_path,
        SPLIT.replace("weight", "weight,magic", 1).replace("--@can", "--@whatever x\n--@can"),
    )
    assert [(item.line, item.severity) for item in found] == [(1, "note"), (2, "note")]


async def test_an_unknown_dialect_is_a_note(engine: Engine, tmp_path: Path) -> None:
    script = SPLIT.replace("--@can", "--@regex perl\n--@can")
    (found,) = await findings(engine, tmp_path, script)
    assert found == Finding(1, "note", "--@regex perl is unknown; known: pcre, re2, rust")
    known = await findings(engine, tmp_path / "known", script.replace("perl", "re2 1024"))
    assert known == []


async def test_without_a_header_lint_reports_the_working_steps(
    engine: Engine, tmp_path: Path
) -> None:
    script = "if obj.matches then error('weights only') end\n" + SPLIT.split("\n", 1)[1]
    ignored, note = await findings(engine, tmp_path, script)
    assert (note.line, note.severity) == (1, "note")
    assert note.message.endswith(": --@can weight,subpercent")
    assert "20 %, headers changed" in ignored.message


async def test_without_a_header_an_ignored_field_is_a_note(engine: Engine, tmp_path: Path) -> None:
    share = "local share = math.max(0, obj.canaryWeight)\n"
    script = SPLIT.split("\n", 1)[1].replace("obj.stableWeight", "100 - share")
    found = await findings(engine, tmp_path, share + script.replace("obj.canaryWeight", "share"))
    assert {(item.line, item.severity) for item in found} == {(1, "note")}
    assert any("x-probe=a and x-probe=b get the same answer" in item.message for item in found)


async def test_a_script_that_says_the_same_at_every_step_ignores_nothing(
    engine: Engine, tmp_path: Path
) -> None:
    script = (
        "--@can weight,header,both,path\n"
        "table.insert(obj.data.spec.lanes, 1, {services = {{name = obj.canaryService, weight = 100}}})\n"
        "return obj.data\n"
    )
    (note,) = await findings(engine, tmp_path, script)
    assert "not idempotent" in note.message


async def test_a_script_that_is_not_idempotent_is_reported_at_its_return(
    engine: Engine, tmp_path: Path
) -> None:
    grows = SPLIT.replace("lane.services[2] = ", "lane.services[#lane.services + 1] = ")
    (note,) = await findings(engine, tmp_path, grows)
    assert (note.line, note.severity) == (6, "note")
    assert note.message.startswith("not idempotent: ")
    assert note.message.endswith("(one[0]: 20 %)")


async def test_a_script_that_refuses_its_own_answer_is_not_idempotent(
    engine: Engine, tmp_path: Path
) -> None:
    once = SPLIT.replace(
        "local service", "if lane.services[2] then error('again') end\nlocal service"
    )
    (note,) = await findings(engine, tmp_path, once)
    assert "not idempotent" in note.message


async def test_without_test_data_only_the_text_is_judged(engine: Engine, tmp_path: Path) -> None:
    (note,) = await lint(engine, subject_at(make_folder(tmp_path, SPLIT)))
    assert note.severity == "note"
    assert "no test data" in note.message


async def test_a_module_that_there_is_not_is_an_error(engine: Engine, tmp_path: Path) -> None:
    (found,) = await findings(engine, tmp_path, "--@can weight\n--@use routers\n" + SPLIT)
    assert (found.line, found.severity) == (2, "error")
    assert "asks for the module routers (--@use), which this version does not have" in found.message


async def test_modules_are_no_strange_globals_where_they_are_asked_for(
    engine: Engine, tmp_path: Path
) -> None:
    body = SPLIT.split("\n", 1)[1].replace("return obj.data", "return tables.copy(obj.data)")
    asked = await findings(engine, tmp_path / "a", f"--@can weight\n--@use tables\n{body}")
    assert asked == []
    (forgotten,) = (
        item
        for item in await findings(engine, tmp_path / "b", f"--@can weight\n{body}")
        if item.severity == "note"
    )
    assert forgotten.message.endswith("tables, which nobody sets; --@use tables asks for it")
    idle = await findings(engine, tmp_path / "c", "--@use tables\n" + SPLIT)
    assert idle == [Finding(1, "note", "--@use tables is not needed: nothing uses it")]


async def test_a_script_that_is_the_same_as_another_is_tried_with_its_own_claims(
    engine: Engine, tmp_path: Path
) -> None:
    place = tmp_path / "gateway.networking.k8s.io" / "TLSRoute"
    (place / "testdata").mkdir(parents=True)
    ours = FOLDER / "gateway.networking.k8s.io" / "TLSRoute" / "testdata"
    for path in ours.glob("*.yaml"):
        (place / "testdata" / path.name).write_text(path.read_text())
    text = "--@can weight,method\n--@same-as gateway.networking.k8s.io/TCPRoute\n"
    (place / "trafficRouting.lua").write_text(text)
    found = await lint(engine, subject_at(place / "trafficRouting.lua"))
    assert [(item.line, item.severity) for item in found] == [(1, "error")]
    assert "--@can method does not hold" in found[0].message
