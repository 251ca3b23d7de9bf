"""The streams of the process: any locale, and a reader that goes away."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from controller.cli.failures import ExitCode
from tests.component.cli.commands.test_undo import with_workload
from tests.component.cli.double import ROLLOUTS, Cluster, cluster, make_rollout
from tests.component.kube.faulty_server import Reply, event, write_kubeconfig

AS_FROM_A_SHELL = ("/usr/bin/env", "--default-signal=INT")
"""Ctrl-C is ignored in programs that a script started in the background, and so in the programs that these start."""
SECONDS = 60


@contextlib.asynccontextmanager
async def started(
    api: Cluster,
    out: int,
    *arguments: str,
    typed: int | None = None,
    encoding: str = "",
    kind: str = "xterm",
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The program as a process of its own, with this file as its standard output, or with a terminal as all three."""
    kubeconfig = await asyncio.to_thread(write_kubeconfig, api.directory, api.server, {})
    process = await asyncio.create_subprocess_exec(
        *AS_FROM_A_SHELL, sys.executable, "-m", "controller.cli.main", *arguments,
        env={**os.environ, "KUBECONFIG": kubeconfig, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "TERM": kind},
        stdin=typed, stdout=out, stderr=asyncio.subprocess.PIPE if typed is None else typed,
    )  # fmt: skip
    try:
        async with asyncio.timeout(SECONDS):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_text_of_any_language_is_printed_in_every_locale(tmp_path: Path) -> None:
    stall = {"type": "Stalled", "status": "True", "reason": "X", "message": "中文 – größer"}
    shown = tmp_path / "shown"
    async with cluster(tmp_path, make_rollout(conditions=[stall])) as api:
        with shown.open("wb") as out:
            async with started(api, out.fileno(), "get", "web", encoding="latin-1") as process:
                _, errors = await process.communicate()
    assert (process.returncode, errors) == (0, b"")
    assert "中文 – größer" in shown.read_text(encoding="utf-8")


async def test_a_watch_whose_reader_has_gone_ends_without_a_word(tmp_path: Path) -> None:
    watched, closed = asyncio.Event(), asyncio.Event()

    async def changing(path: str, reply: Reply) -> None:
        await reply.begin_stream()
        watched.set()
        await closed.wait()
        await reply.send(event("MODIFIED", make_rollout(state="StepUpgrade", version="6")))
        await reply.until_closed()

    async with cluster(tmp_path, make_rollout()) as api:
        api.watches[ROLLOUTS] = changing
        read, write = os.pipe()
        async with started(api, write, "get", "-w") as process:
            os.close(write)
            await watched.wait()
            assert b"web" in await asyncio.to_thread(os.read, read, 65536)
            os.close(read)
            closed.set()
            _, errors = await process.communicate()
    assert (process.returncode, errors) == (1, b"")


async def test_ctrl_c_ends_a_question(tmp_path: Path) -> None:
    screen, terminal = os.openpty()
    async with cluster(tmp_path, make_rollout(phase="Healthy", state="Completed")) as api:
        with_workload(api)
        async with started(api, terminal, "undo", "web", typed=terminal) as process:
            shown = b""
            while b"Start it? [y/N]" not in shown:
                shown += await asyncio.to_thread(os.read, screen, 4096)
            process.send_signal(signal.SIGINT)
            assert await process.wait() == ExitCode.INTERRUPTED
        assert api.patches == []
    os.close(screen)
    os.close(terminal)


async def test_an_answer_that_is_typed_counts(tmp_path: Path) -> None:
    screen, terminal = os.openpty()
    async with cluster(tmp_path, make_rollout(phase="Healthy", state="Completed")) as api:
        with_workload(api)
        async with started(api, terminal, "undo", "web", typed=terminal) as process:
            await asyncio.to_thread(os.write, screen, b"y\n")
            assert await process.wait() == ExitCode.OK
        assert len(api.patches) == 1
    os.close(screen)
    os.close(terminal)


async def test_a_watch_on_a_terminal_that_only_prints_prints_its_lines(tmp_path: Path) -> None:
    screen, terminal = os.openpty()
    async with cluster(tmp_path, make_rollout()) as api:
        arguments = ("get", "web", "-w")
        async with started(api, terminal, *arguments, typed=terminal, kind="dumb") as process:
            shown = b""
            while b"waits for an approval" not in shown:
                shown += await asyncio.to_thread(os.read, screen, 4096)
            process.send_signal(signal.SIGINT)
            assert await process.wait() == ExitCode.INTERRUPTED
    assert b"\x1b" not in shown
    os.close(screen)
    os.close(terminal)
