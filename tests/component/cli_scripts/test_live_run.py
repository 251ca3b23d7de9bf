"""`run-script --live` against a real server, and the case that it records."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from controller.cli.main import cli

TOKEN, ANSWERED = "t0p-secret/value", "an-access-token-of-the-service"
SCRIPT = """\
--@name Lab
--@does source
--@asks http, https
--@secrets token
--@params address, query
--@docs https://lab.example.com/api
if obj.turn == 1 then
    return {ask = {{url = obj.params.address .. "/token", form = {secret = obj.secrets.token}}}}
end
local answer = obj.answers[1]
if answer.status ~= 200 then error("Lab answered " .. answer.status) end
local found = json.decode(answer.body)
if found.access_token then
    return {ask = {{url = obj.params.address .. "/q", query = {q = obj.params.query, key = obj.secrets.token},
        headers = {Authorization = "Bearer " .. found.access_token}}}}
end
return {value = found.value}
"""


class _Service(http.server.BaseHTTPRequestHandler):
    seen: list[tuple[str, str, str]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.seen.append((self.path, body, ""))
        self._answer({"access_token": ANSWERED})

    def do_GET(self) -> None:
        self.seen.append((self.path, "", self.headers["Authorization"]))
        if "broken" in self.path:
            self.send_error(500)
            return
        self._answer({"value": 7, "echo": self.path})

    def _answer(self, body: dict[str, object]) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


@pytest.fixture
def service() -> Iterator[str]:
    """A server on a free port of the loopback interface."""
    _Service.seen = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def script_in(root: Path) -> Path:
    path = root / "source" / "lab.lua"
    (path.parent / "testdata" / "lab").mkdir(parents=True)
    path.write_text(SCRIPT)
    return path


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def test_a_live_run_asks_and_its_record_is_a_case_without_secrets(
    service: str, tmp_path: Path
) -> None:
    path, secret = script_in(tmp_path), tmp_path / "token"
    secret.write_text(TOKEN + "\n")
    case = path.parent / "testdata" / "lab" / "recorded.yaml"
    params = json.dumps({"address": service, "query": "errors"})
    done = invoke(
        "run-script", path, "--live", "--params", params,
        "--secret", f"token={secret}", "--record", case,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert _Service.seen == [
        ("/token", "secret=t0p-secret%2Fvalue", ""),
        ("/q?key=t0p-secret/value&q=errors", "", f"Bearer {ANSWERED}"),
    ]
    written = case.read_text()
    for text in (done.output, written):
        assert "t0p-secret" not in text
        assert "${token}" in text
    assert ANSWERED not in written
    replayed = invoke("test-scripts", tmp_path)
    assert replayed.exit_code == 0, replayed.output
    assert "1 case with exchanges: all passed" in replayed.output


def test_an_error_of_the_script_is_recorded_too(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = script_in(tmp_path)
    case = path.parent / "testdata" / "lab" / "broken.yaml"
    monkeypatch.setenv("LAB_TOKEN", TOKEN)
    params = json.dumps({"address": service, "query": "broken"})
    done = invoke(
        "run-script", path, "--live", "--params", params,
        "--secret", "token=env:LAB_TOKEN", "--record", case,
    )  # fmt: skip
    assert done.exit_code == 1
    assert "failed: source lab: Lab answered 500" in done.output
    assert "error: Lab answered 500" in case.read_text()
    assert invoke("test-scripts", tmp_path).exit_code == 0


def test_a_request_without_an_answer_is_no_case(tmp_path: Path) -> None:
    path, case = script_in(tmp_path), tmp_path / "case.yaml"
    (tmp_path / "token").write_text(TOKEN)
    done = invoke(
        "run-script", path, "--live", "--params", "{address: 'http://127.0.0.1:9', query: q}",
        "--secret", f"token={tmp_path / 'token'}", "--record", case,
    )  # fmt: skip
    assert done.exit_code == 1
    assert "failed: " in done.output
    assert not case.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give --live to ask with this script"),
        (("--live", "--secret", "token"), "write it as NAME=FILE"),
        (("--live", "--secret", "token=env:NO_SUCH_VARIABLE"), "no variable NO_SUCH_VARIABLE"),
        (("--live", "--secret", "token=/no/such/file"), "/no/such/file cannot be read"),
        (("--live", "--params", "[]"), "--params is no object"),
        (("--live", "--params", "{"), "--params: not YAML"),
        (("--live", "--case", "/no/such/case.yaml"), "/no/such/case.yaml"),
        (("--live",), "the script needs the parameter address (--@params)"),
    ],
)
def test_what_a_live_run_lacks_is_said(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = invoke("run-script", script_in(tmp_path), *arguments)
    assert done.exit_code != 0
    assert words in " ".join((done.output, str(done.exception)))
