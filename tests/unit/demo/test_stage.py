"""The processes run with the manifests' command lines."""

import sys
from pathlib import Path

from demo import kept
from demo.stage import on_one_machine


def test_a_command_line_keeps_what_one_machine_does_not_change() -> None:
    manifest = ["python", "-m", "controller", "--leader-elect", "--lua-worker=dns:///w:9090"]
    manifest.append("--lua-worker-tls-dir=/certificates/worker")
    assert on_one_machine(manifest, {"--lua-worker": "unix:///w.sock"}) == [
        sys.executable,
        "-m",
        "controller",
        "--leader-elect",
        "--lua-worker=unix:///w.sock",
    ]


async def test_where_nothing_was_left_up_nothing_is_ended(tmp_path: Path) -> None:
    assert await kept.stop(tmp_path) == []


async def test_a_process_that_only_shares_a_number_is_not_ended(tmp_path: Path) -> None:
    (tmp_path / kept.FILE).write_text('{"controller": {"pid": 1, "started_at": 123456789}}')
    assert await kept.stop(tmp_path) == []
    assert not (tmp_path / kept.FILE).exists()
