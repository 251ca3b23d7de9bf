"""The commands as a person calls them: a process of their own worker, output, exit code."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from controller.cli.main import cli
from controller.cli.script_tools import engine
from controller.scripts.lookup import FOLDER
from tests.component.luaworker.process import children_of, eventually, is_alive
from tests.unit.cli_scripts.folders import ORIGINAL, SPLIT, case, make_folder, split

STEP = {"traffic": "20%"}
ONE = case(STEP, {"traffic": "40%"}, expected=[split(20), split(40)])


def moonshift(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def test_cases_that_pass_end_with_success(tmp_path: Path) -> None:
    make_folder(tmp_path, one=ONE)
    report = tmp_path / "junit.xml"
    ended = moonshift("test-scripts", tmp_path, "--junit", report, "--min-coverage", "100")
    assert ended.exit_code == 0, ended.output
    lines = ended.output.splitlines()
    assert lines[:4] == [
        "gateway.example.com/TrafficLane",
        "  ok    one[0]  20 %",
        "  ok    one[1]  40 %",
        "  coverage: 100 % of 5 statements",
    ]
    assert "1 script, 2 steps: all passed" in lines[-1]
    assert 'tests="2" failures="0"' in report.read_text()


def test_update_writes_the_scripts_answer(tmp_path: Path) -> None:
    script = make_folder(tmp_path, one=case(STEP, expected=[]))
    assert moonshift("test-scripts", tmp_path).exit_code == 1
    assert moonshift("test-scripts", tmp_path, "--update").exit_code == 0
    written = yaml.safe_load((script.parent / "testdata" / "one.yaml").read_text())
    assert written["expected"] == [split(20)]


def test_too_little_coverage_fails(tmp_path: Path) -> None:
    make_folder(tmp_path, SPLIT.replace("return", "if obj.x then y = 1 end return"), one=ONE)
    ended = moonshift("test-scripts", tmp_path, "--min-coverage", "90")
    assert ended.exit_code == 1
    assert "less than 90 %" in ended.output


@pytest.mark.parametrize("keyword", ["-k", "--watch"])
def test_a_folder_that_is_not_there_is_reported(tmp_path: Path, keyword: str) -> None:
    ended = moonshift("test-scripts", tmp_path / "none")
    assert ended.exit_code == 1
    assert "is no folder" in ended.output
    assert keyword in moonshift("test-scripts", "--help").output


def test_a_folder_without_scripts_fails(tmp_path: Path) -> None:
    ended = moonshift("test-scripts", tmp_path)
    assert ended.exit_code == 1
    assert "no script below" in ended.output


def test_a_step_of_a_case_is_shown_whole(tmp_path: Path) -> None:
    script = make_folder(tmp_path, "print('hello')\n" + SPLIT, one=ONE)
    path = script.parent / "testdata" / "one.yaml"
    ended = moonshift("run-script", script, "--case", path, "--step", "1", "--input")
    assert ended.exit_code == 0, ended.output
    for part in (
        "  canaryWeight: 40",
        "step:    40 %",
        "  +      weight: 60",
        "  +    - name: shop-canary",
        "CPU: ",
        "memory: ",
        "log:\n  hello",
    ):
        assert part in ended.output


def test_an_object_and_options_make_a_step(tmp_path: Path) -> None:
    script = make_folder(tmp_path, SPLIT + "\n")
    path = tmp_path / "lane.yaml"
    path.write_text(yaml.safe_dump(ORIGINAL))
    ended = moonshift(
        "run-script", script.parent, "--object", path, "--weight", "12.5", "--service", "shop",
        "--canary-service", "shop-next", "--label", "a=b", "--params", "{x: 1}",
    )  # fmt: skip
    assert ended.exit_code == 0, ended.output
    assert "  +    - name: shop-next" in ended.output
    assert "  +      weight: 87.5" in ended.output


def test_a_failure_shows_its_place_and_the_printed_text(tmp_path: Path) -> None:
    script = make_folder(tmp_path, "print('here')\nlocal function f() error('no') end\nf()")
    path = tmp_path / "lane.yaml"
    path.write_text(yaml.safe_dump(ORIGINAL))
    ended = moonshift("run-script", script, "--object", path, "--match", "ua=pc")
    assert ended.exit_code == 1
    assert "refused: TrafficLane/shop" in ended.output
    assert ":3: in main chunk" in ended.output
    assert "log:\n  here" in ended.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "either --case or --object"),
        (("--case", "none.yaml"), "none.yaml"),
        (("--object", "{lane}"), "--weight or --match"),
        (("--object", "{lane}", "--weight", "1", "--label", "x"), "key=value"),
        (("--object", "{lane}", "--weight", "1", "--params", "[]"), "no object"),
        (("--object", "{lane}", "--weight", "1", "--step", "3"), "the steps 0 to 0"),
        (("--object", "{lane}", "--match", "x"), "name=value"),
    ],
)
def test_a_command_line_that_cannot_be_followed_is_explained(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    script = make_folder(tmp_path)
    lane = tmp_path / "lane.yaml"
    lane.write_text(yaml.safe_dump(ORIGINAL))
    ended = moonshift("run-script", script, *(item.format(lane=lane) for item in arguments))
    assert ended.exit_code in (1, 2)
    assert message in ended.output


def test_cases_become_lua_beside_them(tmp_path: Path) -> None:
    script = make_folder(tmp_path, one=ONE)
    ended = moonshift("convert", script.parent / "testdata" / "one.yaml")
    assert ended.exit_code == 0, ended.output
    written = (script.parent / "testdata" / "one_obj.lua").read_text()
    assert "step_0 = {" in written
    assert "step_1 = {" in written


def test_a_folder_of_cases_keeps_its_shape_elsewhere(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", one=ONE)
    ended = moonshift("convert", tmp_path / "in", "-o", tmp_path / "out")
    assert ended.exit_code == 0
    assert (tmp_path / "out" / "gateway.example.com" / "TrafficLane" / "one_obj.lua").is_file()


def test_a_case_that_cannot_be_converted_fails_and_others_are_written(tmp_path: Path) -> None:
    make_folder(tmp_path, bad={}, one=ONE)
    ended = moonshift("convert", tmp_path)
    assert ended.exit_code == 1
    assert "original is missing" in ended.output
    assert "wrote" in ended.output


def test_a_case_outside_of_testdata_has_no_script(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("{}")
    ended = moonshift("convert", path)
    assert ended.exit_code == 1
    assert "its script is not known" in ended.output


def test_findings_are_printed_with_file_and_line(tmp_path: Path) -> None:
    script = make_folder(tmp_path, SPLIT.replace("'ghost'", "").replace("shop", "x"), one=ONE)
    script.write_text(SPLIT.replace("obj.canaryService", "'ghost'"))
    ended = moonshift("lint-script", tmp_path)
    assert ended.exit_code == 1
    assert f"{script}:6: error: the script leads to ghost" in ended.output


def test_notes_never_fail(tmp_path: Path) -> None:
    script = make_folder(tmp_path, SPLIT.replace("local lane", "lane"), one=ONE)
    ended = moonshift("lint-script", script)
    assert ended.exit_code == 0, ended.output
    assert "1 script: 0 errors, 1 note" in ended.output


def test_a_worker_that_cannot_start_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(address: str, *, filtered: bool) -> list[str]:
        del filtered
        return [sys.executable, "-c", f"raise SystemExit('no engine for {address}')"]

    monkeypatch.setattr(engine, "worker_command", broken)
    make_folder(tmp_path, one=ONE)
    ended = moonshift("test-scripts", tmp_path)
    assert ended.exit_code == 1
    assert "error: the script worker cannot run scripts here: no engine" in ended.output


def test_the_worker_is_not_taken_from_the_working_directory() -> None:
    command = engine.worker_command("unix:///x", filtered=False)
    assert command[1] == "-P"
    assert command[-1] == "--insecure-no-seccomp"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
async def test_a_command_that_is_killed_leaves_no_worker_behind(
    tmp_path: Path, number: signal.Signals
) -> None:
    make_folder(tmp_path, one=ONE)
    program = [sys.executable, "-m", "controller.cli.main", "test-scripts", str(tmp_path)]
    inherited = signal.getsignal(number)
    if inherited is signal.SIG_IGN:  # an ignored signal is inherited, as under nohup
        signal.signal(number, lambda *_: None)
    process = await asyncio.create_subprocess_exec(
        *program, "--watch", stdout=asyncio.subprocess.PIPE
    )
    if inherited is signal.SIG_IGN:
        signal.signal(number, inherited)
    assert process.stdout is not None
    while b"waiting for a change" not in (line := await process.stdout.readline()):
        assert line, "the command ended by itself"
    (worker,) = children_of(process.pid)
    descendants = [worker, *(zygotes := children_of(worker)), *children_of(zygotes[0])]
    process.send_signal(number)
    await process.wait()
    await eventually(lambda: not any(map(is_alive, descendants)), "the worker is gone")


async def test_a_closed_pipe_ends_the_output(tmp_path: Path) -> None:
    make_folder(tmp_path, one=ONE)
    program = [sys.executable, "-m", "controller.cli.main", "test-scripts", str(tmp_path)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*program, stdout=pipe, stderr=pipe)
    process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]  # asyncio has no public way
    _, output = await process.communicate()
    assert output == b""


def test_a_scripts_output_does_not_control_the_terminal(tmp_path: Path) -> None:
    script = make_folder(tmp_path, "print('x\\27[2J') " + SPLIT, one=ONE)
    case = script.parent / "testdata" / "one.yaml"
    for command in (("run-script", script, "--case", case), ("test-scripts", tmp_path)):
        ended = moonshift(*command)
        assert "\x1b" not in ended.output
    script.write_text("print('x\\27[2J') error('y\\27[2J')")
    ended = moonshift("test-scripts", tmp_path)
    assert "x␛[2J" in ended.output
    assert "y␛[2J" in ended.output


@pytest.mark.parametrize(
    "backend", ["{name: web, port: 80}", "{name: web, namespace: demo, port: 80}"], ids=str
)
def test_the_service_is_known_by_its_name_without_a_namespace(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "route.yaml"
    path.write_text(
        "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: demo}, "
        f"spec: {{rules: [{{backendRefs: [{backend}]}}]}}}}"
    )
    script = FOLDER / "gateway.networking.k8s.io/HTTPRoute"
    ended = moonshift("run-script", script, "--object", path, "--weight", "20")
    assert ended.exit_code == 0, ended.output
    assert "web-canary" in ended.output
