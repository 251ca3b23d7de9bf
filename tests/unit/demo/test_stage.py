"""The processes run with the manifests' command lines."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec
import pytest

from demo import kept
from demo.stage import PROBES, on_one_machine
from localcluster.errors import ClusterError
from localcluster.ports import free_ports


def test_a_command_line_keeps_arguments_that_are_the_same_on_one_machine() -> None:
    manifest = ["python", "-m", "controller", "--leader-elect", "--lua-worker=dns:///w:9090"]
    manifest.append("--lua-worker-tls-dir=/certificates/worker")
    assert on_one_machine(manifest, {"--lua-worker": "unix:///w.sock"}) == [
        sys.executable,
        "-m",
        "controller",
        "--leader-elect",
        "--lua-worker=unix:///w.sock",
    ]


async def test_stop_without_a_kept_demo_ends_nothing(tmp_path: Path) -> None:
    assert await kept.stop(tmp_path) == []


async def test_a_process_that_only_shares_a_number_is_not_ended(tmp_path: Path) -> None:
    (tmp_path / kept.FILE).write_text('{"controller": {"pid": 1, "started_at": 123456789}}')
    assert await kept.stop(tmp_path) == []
    assert not (tmp_path / kept.FILE).exists()


PROBED = """
import http.server, sys
class Probe(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
host, port = sys.argv[1].partition("=")[2].split(":")
http.server.HTTPServer((host, int(port)), Probe).serve_forever()
"""


async def test_only_ended_processes_are_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = dict(zip(("luaworker", "controller"), free_ports(2), strict=True))
    commands = {
        name: (sys.executable, "-c", PROBED, f"{PROBES}=127.0.0.1:{port}")
        for name, port in ports.items()
    }
    written = {name: kept.KeptProcess(1, 123456789, line) for name, line in commands.items()}
    (tmp_path / kept.FILE).write_bytes(msgspec.json.encode(written))
    monkeypatch.setattr(kept, "is_kept", lambda folder: True)
    try:
        assert await kept.resume(tmp_path) == ["luaworker", "controller"]
        assert await kept.resume(tmp_path) == []
        known = msgspec.json.decode((tmp_path / kept.FILE).read_bytes())
        os.kill(known["controller"]["pid"], signal.SIGKILL)
        await asyncio.to_thread(os.waitpid, known["controller"]["pid"], 0)
        assert await kept.resume(tmp_path) == ["controller"]
    finally:
        monkeypatch.setattr(kept, "is_kept", lambda folder: False)
        assert await kept.stop(tmp_path) == ["luaworker", "controller"]


async def test_resume_without_a_kept_demo_starts_nothing(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no demo was left up"):
        await kept.resume(tmp_path)
