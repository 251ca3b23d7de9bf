"""Runs `python -m demo` as a program: it succeeds, and it fails if a check does not hold."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLAYED_SECONDS = 900


async def play(*arguments: str, module: str = "demo") -> tuple[int, str]:
    """Run a demo to its end; return its exit code and its output."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        cwd=ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(PLAYED_SECONDS):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def test_the_demo_plays_to_its_end_and_every_check_holds(tmp_path: Path) -> None:
    code, output = await play("--dir", str(tmp_path))
    assert code == 0, output
    assert "✗" not in output
    assert re.search(r"\d+ checks passed", output)
    assert "\x1b" not in output
    assert "$ kubectl-kruise rollout approve rollout/rollouts-demo" in output


@pytest.mark.full
async def test_a_broken_restore_makes_the_demo_fail(tmp_path: Path) -> None:
    code, output = await play("--dir", str(tmp_path), "--sabotage", "restore")
    assert code == 1, output
    assert re.findall(r"✗ (.*)", output) == ["exactly as before: VirtualService nginx-vs"]


async def test_a_kept_demo_can_be_gone_on_with_and_is_ended_by_stop(tmp_path: Path) -> None:
    code, printed = await play("--keep", "--dir", str(tmp_path))
    try:
        assert code == 0, printed
        found = re.search(r"export KUBECONFIG=(\S+)", printed)
        assert found is not None
        get = await asyncio.create_subprocess_exec(
            str(tmp_path / "bin" / "kubectl"),
            *("get", "rollout", "rollouts-demo", "-o", "jsonpath={.status.phase}"),
            env={**os.environ, "KUBECONFIG": found[1]},
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await get.communicate()
        assert output.decode() == "Healthy"
    finally:
        code, printed = await play("--stop", "--dir", str(tmp_path))
    assert code == 0
    assert printed == "ended: luaworker, controller, the cluster\n"


async def test_the_demo_of_metrics_plays_to_its_end_and_every_check_holds() -> None:
    code, output = await play(module="demo.metrics")
    assert code == 0, output
    assert "3 checks passed" in output
    assert "the difference 0.35 is above 0.05" in output
