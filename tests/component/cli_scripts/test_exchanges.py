"""Cases with exchanges, and the linter of scripts that ask, through the real worker."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from controller.cli.main import cli
from controller.cli.script_tools.engine import Engine
from controller.cli.script_tools.lint import lint
from controller.cli.script_tools.remark import Finding
from controller.cli.script_tools.script_folders import Subject, asking_subjects_in, subject_at
from controller.cli.script_tools.suite import Check, Report, Suite
from controller.scripts.lookup import FOLDER

HEADER = """\
--@name Lab
--@does source
--@asks https
--@secrets token
--@params query, site?
--@docs https://lab.example.com/api
"""
SCRIPT = (
    HEADER
    + """\
if not obj.answers then
    return {ask = {{url = "https://" .. (obj.params.site or "lab.example.com") .. "/q",
        query = {q = obj.params.query, to = obj.window.to},
        headers = {Authorization = "Bearer " .. obj.secrets.token}}}}
end
local answer = obj.answers[1]
if answer.status ~= 200 then error("Lab answered " .. answer.status) end
local body = json.decode(answer.body)
if body.wait then
    return {ask = {{url = "https://lab.example.com/q/" .. body.wait}}, again = 2, state = {id = body.wait}}
end
return {value = body.value, samples = obj.state and 1 or nil}
"""
)
REQUEST: dict[str, Any] = {
    "method": "GET",
    "url": "https://lab.example.com/q",
    "query": {"q": "errors", "to": 60},
    "headers": {"authorization": "Bearer ${token}"},
}
POLLED: dict[str, Any] = {"request": {"url": "https://lab.example.com/q/7"}, "again": 2}


def case_of(*exchanges: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "input": {"params": {"query": "errors"}, "now": 60, "window": {"from": 0, "to": 60}},
        "secrets": ["token"],
        "exchanges": list(exchanges),
        "expect": {"value": 1},
        **more,
    }


def answered(body: Any, status: int = 200, **request: Any) -> dict[str, Any]:
    return {"request": {**REQUEST, **request}, "answer": {"status": status, "body": body}}


GOOD = case_of(answered({"value": 1}))
OTHER_SITE = case_of(
    answered({"value": 1}, url="https://eu.example.com/q"),
    input={
        "params": {"query": "errors", "site": "eu.example.com"},
        "now": 60,
        "window": {"from": 0, "to": 60},
    },
)


def made(root: Path, script: str = SCRIPT, **cases: Any) -> Subject:
    path = root / "source" / "lab.lua"
    folder = path.parent / "testdata" / "lab"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    for name, content in cases.items():
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (folder / f"{name}.yaml").write_text(text)
    return subject_at(path)


async def report(engine: Engine, subject: Subject) -> Report:
    (found,) = await Suite(engine).run([subject])
    return found


async def only(engine: Engine, root: Path, case: Any, script: str = SCRIPT) -> Check:
    (check,) = (await report(engine, made(root, script, one=case))).checks
    return check


PACKAGED = asking_subjects_in(FOLDER)


@pytest.mark.parametrize("subject", PACKAGED, ids=[subject.name for subject in PACKAGED])
async def test_a_packaged_script_that_asks_passes_its_cases_which_run_every_statement(
    engine: Engine, subject: Subject
) -> None:
    found = await report(engine, subject)
    assert [(check.name, check.problem) for check in found.checks if check.problem] == []
    assert found.coverage is not None
    assert (found.coverage.missed_lines, found.coverage.unmeasured) == ((), 0)


@pytest.mark.parametrize("subject", PACKAGED, ids=[subject.name for subject in PACKAGED])
async def test_the_header_of_a_packaged_script_that_asks_is_true(
    engine: Engine, subject: Subject
) -> None:
    assert await lint(engine, subject) == []


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(GOOD, id="value"),
        pytest.param(case_of(answered({}), expect={"noData": True}), id="no data"),
        pytest.param(
            case_of(answered({"wait": 7}), {**POLLED, "answer": {"body": {"value": 1}}}),
            id="polled, with a state",
        ),
        pytest.param(
            case_of(answered("", 403), expect={"error": "Lab answered 403"}), id="an error"
        ),
        pytest.param(
            case_of(
                {
                    "requests": [{**REQUEST, "query": {"q": "errors", "to": "60"}}],
                    "answers": [{"body": '{"value":1}'}],
                }
            ),
            id="a list of requests, and a number as it is sent",
        ),
    ],
)
async def test_a_case_that_describes_the_exchange_passes(
    engine: Engine, tmp_path: Path, case: Any
) -> None:
    check = await only(engine, tmp_path, case)
    assert check.problem == ""
    assert check.turns == len(case["exchanges"]) + 1


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        pytest.param(
            case_of(answered({"value": 1}, query={"q": "errors", "to": 61, "from": 0})),
            "turn 1: it does not ask as expected, in request[1].query.from, request[1].query.to",
            id="another query",
        ),
        pytest.param(
            case_of(answered({"value": 1}, headers={"Authorization": "Bearer token"})),
            "turn 1: it does not ask as expected, in request[1].headers.authorization",
            id="another header",
        ),
        pytest.param(
            case_of(answered({"wait": 7}), {"request": POLLED["request"], "answer": {}}),
            "turn 2: it does not ask as expected, in again",
            id="another wait",
        ),
        pytest.param(
            case_of(answered({"wait": 7})),
            "turn 2: it asks again, and the case has no answer",
            id="one more request",
        ),
        pytest.param(
            case_of(answered({"value": 1}), {**POLLED, "answer": {}}),
            "turn 2: it asks for nothing more, and the case has 2 exchanges",
            id="one request less",
        ),
        pytest.param(
            case_of(answered("", 403), {**POLLED, "answer": {}}, expect={"error": "answered 403"}),
            "turn 2: it asks for nothing more, and the case has 2 exchanges",
            id="an error before the last request",
        ),
        pytest.param(
            case_of(answered({"value": 2})),
            "turn 2: the answer is not what is expected",
            id="another value",
        ),
        pytest.param(
            case_of(answered({"value": 1}), expect={"error": "no"}),
            "turn 2: an error was expected (no), and it gave an answer",
            id="no error",
        ),
        pytest.param(
            case_of(answered("", 500), expect={"error": "answered 403"}),
            "turn 2: source/lab:13: Lab answered 500, and an error with other words was expected: answered 403",
            id="another error",
        ),
        pytest.param(
            case_of(answered({"value": 1}), secrets=[]),
            "the script needs the secret token (--@secrets)",
            id="a secret that is missing",
        ),
        pytest.param(
            case_of(answered({"value": [1]})),
            "turn 2: the controller refuses the answer: value: it is a list",
            id="no value",
        ),
        pytest.param("input: {", "not YAML", id="no YAML"),
        pytest.param("[]", "input is missing", id="no map"),
        pytest.param({**GOOD, "expected": 1}, "unknown keys: expected", id="an unknown key"),
        pytest.param({**GOOD, "expect": {}}, "expect is missing", id="no expectation"),
        pytest.param({**GOOD, "secrets": "token"}, "secrets is no list", id="no list of secrets"),
        pytest.param({**GOOD, "exchanges": {}}, "turn 1: it asks again", id="no exchanges"),
        pytest.param({**GOOD, "exchanges": {"a": 1}}, "exchanges is no list", id="no list"),
        pytest.param({**GOOD, "exchanges": [1]}, "exchange 1 is no map", id="no exchange"),
        pytest.param({**GOOD, "exchanges": [{"requests": []}]}, "has no request", id="no request"),
        pytest.param(
            {**GOOD, "exchanges": [{"request": 1}]}, "a request that is no map", id="a number"
        ),
        pytest.param(
            {**GOOD, "exchanges": [{"request": {}, "answers": [{}, {}]}]},
            "exchange 1 has 1 requests and 2 answers",
            id="other numbers",
        ),
    ],
)
async def test_a_case_that_differs_names_the_turn_and_the_place(
    engine: Engine, tmp_path: Path, case: Any, problem: str
) -> None:
    assert problem in (await only(engine, tmp_path, case)).problem


async def test_a_difference_shows_marks_by_the_names_of_secrets(
    engine: Engine, tmp_path: Path
) -> None:
    check = await only(engine, tmp_path, case_of(answered({}, headers={"authorization": "x"})))
    changed = [line for line in check.diff if "authorization" in line]
    assert [(line[0], line[1:].strip()) for line in changed] == [
        ("-", "authorization: x"),
        ("+", "authorization: Bearer ${token}"),
    ]


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        pytest.param(
            SCRIPT.replace("headers =", "headrs ="),
            "ask[1].headrs: there is no such field",
            id="an unknown field",
        ),
        pytest.param(
            SCRIPT.replace('"https://" ..', '"https://" .. obj.secrets.token ..'),
            "a secret may not say which address is asked",
            id="a secret in the host",
        ),
        pytest.param(
            SCRIPT.replace("--@asks https", "--@asks http"),
            "it asks by https, and the header says --@asks http",
            id="another scheme",
        ),
        pytest.param(
            SCRIPT.replace("{value = body.value", "{value = obj.secrets.token"),
            "a secret may not be a value",
            id="a secret as a value",
        ),
    ],
)
async def test_what_the_controller_would_refuse_fails(
    engine: Engine, tmp_path: Path, script: str, problem: str
) -> None:
    assert problem in (await only(engine, tmp_path, GOOD, script)).problem


async def test_a_source_that_polls_without_an_end_fails(engine: Engine, tmp_path: Path) -> None:
    polled = [{**POLLED, "answer": {"body": {"wait": 7}}} for _ in range(9)]
    check = await only(engine, tmp_path, case_of(answered({"wait": 7}), *polled))
    assert check.problem == "turn 8: it asks again, and a source has 8 turns"


async def test_a_script_that_asks_and_has_no_case_fails(engine: Engine, tmp_path: Path) -> None:
    (check,) = (await report(engine, made(tmp_path))).checks
    assert f"put a case into {tmp_path}/source/testdata/lab/" in check.problem


# --- the linter -------------------------------------------------------------------------------------


async def findings(engine: Engine, root: Path, script: str, **cases: Any) -> list[Finding]:
    return await lint(engine, made(root, script, **cases))


async def test_a_header_that_is_true_has_no_finding(engine: Engine, tmp_path: Path) -> None:
    assert await findings(engine, tmp_path, SCRIPT, one=GOOD, other=OTHER_SITE) == []


@pytest.mark.parametrize(
    ("script", "line", "severity", "message"),
    [
        pytest.param(
            SCRIPT.replace("obj.params.site", "obj.params.host"), 8, "error",
            "uses the parameter host, which the header does not name: --@params host", id="parameter",
        ),
        pytest.param(
            SCRIPT.replace("obj.secrets.token", 'obj.secrets["key"]'), 10, "error",
            "uses the secret key, which the header does not name: --@secrets key", id="secret",
        ),
        pytest.param(
            SCRIPT.replace("--@secrets token", "--@secrets token, key?"), 4, "note",
            "--@secrets key is not needed: nothing uses it", id="unused secret",
        ),
        pytest.param(
            SCRIPT.replace("--@asks https", "--@asks https, get"), 3, "note",
            "--@asks get: no case shows it", id="scheme without a case",
        ),
        pytest.param(
            SCRIPT.replace("--@asks https", "--@asks https, ftp"), 3, "error",
            "--@asks ftp is unknown", id="unknown scheme",
        ),
        pytest.param(
            SCRIPT.replace("--@does source", "--@does check"), 2, "error",
            "says --@does check, and its folder is source", id="another folder",
        ),
        pytest.param(
            SCRIPT.replace("--@does source\n", ""), 1, "error", "has no --@does line", id="no word"
        ),
        pytest.param(
            SCRIPT.replace("--@docs", "--@sign sha\n--@docs"), 6, "error",
            "--@sign sha is unknown", id="signature",
        ),
        pytest.param(
            SCRIPT.replace(HEADER.splitlines()[-1] + "\n", ""), 1, "note", "no --@docs line", id="no page",
        ),
    ],
)  # fmt: skip
async def test_a_header_that_is_not_true_is_found(
    engine: Engine, tmp_path: Path, script: str, line: int, severity: str, message: str
) -> None:
    found = await findings(engine, tmp_path, script, one=GOOD, other=OTHER_SITE)
    assert any(
        (item.line, item.severity) == (line, severity) and message in item.message for item in found
    ), found


async def test_parameters_and_secrets_that_no_case_gives_are_noted(
    engine: Engine, tmp_path: Path
) -> None:
    found = await findings(engine, tmp_path, SCRIPT, one=GOOD)
    assert [item.message for item in found] == ["--@params site: no case shows it"]
    for path in (tmp_path / "source" / "testdata" / "lab").iterdir():
        path.unlink()
    found = await findings(engine, tmp_path, SCRIPT)
    assert [item.message for item in found] == ["no test data: nothing of what it asks was tested"]


async def test_names_that_are_computed_are_not_judged(engine: Engine, tmp_path: Path) -> None:
    script = SCRIPT.replace("obj.params.site or", 'obj.params["si" .. "te"] or')
    found = await findings(engine, tmp_path, script, one=GOOD, other=OTHER_SITE)
    assert [item for item in found if "not needed" in item.message] == []


async def test_a_case_that_fails_is_an_error_of_the_linter_too(
    engine: Engine, tmp_path: Path
) -> None:
    found = await findings(engine, tmp_path, SCRIPT, one=case_of(answered({"value": 2})), two="[]")
    messages = [item.message for item in found if item.severity == "error"]
    assert any("the answer is not what is expected (one)" in message for message in messages)
    assert any("input is missing" in message for message in messages)


# --- the commands -----------------------------------------------------------------------------------


def test_the_command_runs_them_and_writes_a_report_for_build_servers(tmp_path: Path) -> None:
    made(tmp_path, one=GOOD, other=OTHER_SITE)
    out = tmp_path / "out.xml"
    done = CliRunner().invoke(cli, ["test-scripts", str(tmp_path), "--update", "--junit", str(out)])
    assert done.exit_code == 0, done.output
    assert "1 script, 2 cases with exchanges: all passed" in done.output
    assert 'classname="source/lab" name="other"' in out.read_text()
    lined = CliRunner().invoke(cli, ["lint-script", str(tmp_path / "source")])
    assert "1 script: 0 errors, 0 notes" in lined.output
