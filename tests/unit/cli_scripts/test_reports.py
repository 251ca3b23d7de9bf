"""The reports for people and for build servers, and the text that is written back into the cases."""

import xml.etree.ElementTree as ET
from pathlib import Path

import yaml

from controller.cli.script_tools.case_report import coverage_words, report_lines, summary
from controller.cli.script_tools.coverage import Coverage, as_ranges, instrumented, marked
from controller.cli.script_tools.junit import junit, write_junit
from controller.cli.script_tools.lua_syntax import Position
from controller.cli.script_tools.script_folders import Subject, subject_at
from controller.cli.script_tools.suite import Check, Report, verdict
from controller.cli.script_tools.update import replaced
from controller.cli.script_tools.watched_folder import changed, snapshot
from controller.domain.decision import Refusal
from tests.unit.cli_scripts.folders import make_folder, split

SUBJECT = Subject(Path("x.lua"), "g/K", "g", "K")
GOOD = Check("a", 0, "20 %")
BAD = Check("a", 1, "ua=pc", "it is wrong", ("-one", "+two"), ("said\x01",))
REPORT = Report(SUBJECT, (GOOD, BAD), Coverage((Position(0, 1), Position(5, 3)), frozenset({0})))


def test_a_report_shows_verdicts_differences_prints_and_coverage() -> None:
    assert [line.plain for line in report_lines(REPORT)] == [
        "g/K",
        "  ok    a[0]  20 %",
        "  FAIL  a[1]  ua=pc",
        "        it is wrong",
        "        -one",
        "        +two",
        "        it printed:",
        "          said\x01",
        "  coverage: 50 % of 2 statements, not in line 3",
    ]


def test_the_summary_counts_failures() -> None:
    assert summary([REPORT], 1.0).plain == "1 script, 2 steps: 1 failed, 1 passed (1.0 s)"
    fine = Report(SUBJECT, (GOOD,))
    assert summary([fine, fine], 0.0).plain == "2 scripts, 2 steps: all passed (0.0 s)"
    assert summary([], 0.0).plain == "no test case fits"


def test_coverage_that_was_not_measured_is_reported() -> None:
    assert coverage_words(Coverage(unmeasured=2)) == "coverage: could not be measured"
    some = Coverage((Position(0, 1),), frozenset({0}), unmeasured=1)
    assert coverage_words(some).endswith("(1 calls could not be measured)")


def test_build_servers_get_every_verdict(tmp_path: Path) -> None:
    write_junit(tmp_path / "out.xml", [REPORT])
    assert (tmp_path / "out.xml").read_bytes() == junit([REPORT])
    (suite,) = ET.fromstring(junit([REPORT]))
    assert suite.attrib["failures"] == "1"
    good, bad = suite
    assert [item.attrib["name"] for item in (good, bad)] == ["a[0]", "a[1]"]
    assert list(good) == []
    failure = bad.find("failure")
    assert failure is not None
    assert (failure.attrib["message"], failure.text) == ("it is wrong", "-one\n+two")
    assert bad.findtext("system-out") == "said?"


def test_ranges_of_lines_are_joined() -> None:
    assert as_ranges((1, 3, 4, 5, 9)) == "1, 3-5, 9"


def test_a_mark_precedes_every_statement_and_lines_keep_their_numbers(tmp_path: Path) -> None:
    script = subject_at(make_folder(tmp_path, "local a = 1\nreturn {a}\n")).read()
    copy = instrumented(script)
    assert copy is not None
    first, second, *_ = copy.script.text.decode().splitlines()
    assert first.endswith("[0]=true;local a = 1")
    assert second.endswith("[1]=true;return {a}")
    assert marked(("noise", "moonshift-coverage:3")) == frozenset({0, 1})
    assert marked(("noise",)) is None


def test_text_that_is_no_lua_is_not_instrumented(tmp_path: Path) -> None:
    assert instrumented(subject_at(make_folder(tmp_path, "x = = 1")).read()) is None


def test_expectations_are_replaced_and_everything_else_stays() -> None:
    text = "# why\nrollout: {a: 1}  # note\nexpected: # old\n- one\n- two\n\n# about the original\noriginal: {}\n"
    written = replaced(text, [{"b": 1, "a": 2}])
    assert written == (
        "# why\nrollout: {a: 1}  # note\nexpected:\n- b: 1\n  a: 2\n# about the original\noriginal: {}\n"
    )


def test_expectations_are_added_where_there_are_none() -> None:
    assert yaml.safe_load(replaced("original: {}", ["x"])) == {"original": {}, "expected": ["x"]}


def test_expected_errors_are_compared_by_text() -> None:
    refused = Refusal("ScriptFailed", "K/x: script s failed: cannot match a cookie")
    assert verdict(SUBJECT, refused, {"error": "match a cookie"}) == ("", ())
    assert verdict(SUBJECT, refused, {"error": "other"})[0] == refused.message
    assert "an error was expected" in verdict(SUBJECT, {}, {"error": "x"})[0]
    assert verdict(SUBJECT, split(20), None)[0].startswith("nothing is expected")
    assert verdict(SUBJECT, split(20), "x") == ("what is expected is no object", ())


async def test_a_change_of_any_file_that_matters_is_noticed(tmp_path: Path) -> None:
    script = make_folder(tmp_path, one={})
    before = snapshot(tmp_path)
    waited: list[float] = []

    async def edit_instead_of_waiting(seconds: float) -> None:
        waited.append(seconds)
        (script.parent / "notes.txt").write_text("no matter")
        if len(waited) == 2:
            script.unlink()

    assert await changed(tmp_path, before, edit_instead_of_waiting) == (script,)
    assert len(waited) == 2
