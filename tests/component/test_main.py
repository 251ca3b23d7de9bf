"""The controller's process from outside: how it ends when it cannot go on."""

import asyncio
import json
import sys
from pathlib import Path


async def test_the_reason_of_the_end_is_a_json_line_like_all_others(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "controller", f"--kubeconfig={tmp_path}/nobody", "--namespace=here",
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, output = await process.communicate()
    assert process.returncode == 1
    lines = [json.loads(line) for line in output.splitlines()]
    assert lines[-1]["level"] == "error"
    assert lines[-1]["msg"] == "ended"
    assert "does not exist: correct --kubeconfig" in lines[-1]["error"]


async def test_the_controller_loads_nothing_that_only_commands_need() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "import sys, controller.__main__; print(*sys.modules)",
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, _ = await process.communicate()
    loaded = set(output.decode().split())
    assert "controller.app.process" in loaded
    assert {"rich", "controller.cli", "controller.simulation"}.isdisjoint(loaded)
