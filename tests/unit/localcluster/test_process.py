"""Control of one process, with real ones."""

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from localcluster.errors import ComponentExited, NotReady
from localcluster.process import Component, Program
from localcluster.usage import start_time, stat_fields

STUBBORN = "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


async def at_once() -> bool:
    return True


def component(tmp_path: Path, *command: str, tied: bool = True, seconds: float = 5.0) -> Component:
    log = tmp_path / "log"

    async def has_written() -> bool:
        return log.exists() and b"up" in log.read_bytes()

    check = has_written if "up" in " ".join(command) else at_once
    return Component(Program("sleeper", command, log, tied), check, seconds)


@pytest.mark.parametrize("tied", [True, False])
async def test_the_environment_of_a_process_extends_its_starters(
    tmp_path: Path, tied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "kept")
    monkeypatch.setenv("THEIRS", "replaced")
    parts = ("/bin/sh", "-c", 'echo "$OURS $THEIRS up"; exec sleep 60')
    shell = component(tmp_path, *parts, tied=tied)
    shell.program = replace(shell.program, environment={"THEIRS": "given"})
    await shell.start()
    assert (tmp_path / "log").read_text() == "kept given up\n"
    await shell.kill()


@pytest.mark.parametrize("tied", [True, False])
async def test_killed_processes_are_gone_and_reaped(tmp_path: Path, tied: bool) -> None:
    sleeper = component(tmp_path, "/bin/sleep", "60", tied=tied)
    await sleeper.start()
    assert sleeper.running
    await sleeper.kill()
    assert not sleeper.running
    assert stat_fields(sleeper.pid) == []
    await sleeper.kill()


async def test_a_restart_is_another_process_and_is_reported(tmp_path: Path) -> None:
    sleeper = component(tmp_path, "/bin/sleep", "60")
    found: list[int] = []
    sleeper.on_spawn = lambda: found.append(sleeper.pid)
    await sleeper.start()
    await sleeper.restart()
    assert sleeper.running
    await sleeper.kill()
    assert len(set(found)) == 2


async def test_a_stopped_process_continues_on_request(tmp_path: Path) -> None:
    sleeper = component(tmp_path, "/bin/sleep", "60")
    await sleeper.start()
    await sleeper.stop()
    assert stat_fields(sleeper.pid)[0] == "T"
    assert sleeper.running
    await sleeper.cont()
    async with asyncio.timeout(60):
        while stat_fields(sleeper.pid)[0] == "T":  # noqa: ASYNC110 - /proc has no event
            await asyncio.sleep(0)
    await sleeper.kill()


async def test_a_process_that_ignores_termination_is_killed(tmp_path: Path) -> None:
    stubborn = component(tmp_path, sys.executable, "-c", STUBBORN)
    await stubborn.start()
    await stubborn.terminate(seconds=0.05)
    assert not stubborn.running


async def test_a_start_that_fails_shows_the_log(tmp_path: Path) -> None:
    failing = component(tmp_path, "/bin/sh", "-c", "echo no luck: u''p >&2; exit 3")

    async def never() -> bool:
        return False

    failing._is_ready = never
    with pytest.raises(ComponentExited, match="no luck"):
        await failing.start()
    await failing.kill()


async def test_a_start_that_takes_too_long_is_an_error(tmp_path: Path) -> None:
    slow = component(tmp_path, "/bin/sh", "-c", "sleep 60; echo up", seconds=0.1)
    with pytest.raises(NotReady, match="not ready after"):
        await slow.start()
    await slow.kill()


async def test_a_reused_pid_is_not_adopted(tmp_path: Path) -> None:
    stranger = component(tmp_path, "/bin/sleep", "60")
    stranger.adopt(os.getpid(), (start_time(os.getpid()) or 0) - 1)
    assert not stranger.running
    await stranger.kill()


async def test_an_adopted_process_is_controlled(tmp_path: Path) -> None:
    first = component(tmp_path, "/bin/sleep", "60", tied=False)
    await first.start()
    second = component(tmp_path, "/bin/sleep", "60", tied=False)
    second.adopt(first.pid, first.started_at)
    assert second.running
    await second.kill()
    assert not first.running
    await first.kill()


async def test_a_tied_process_dies_with_its_starter(tmp_path: Path) -> None:
    script = (
        "import asyncio,sys,pathlib,os,signal\n"
        "from localcluster.process import Component, Program\n"
        "async def ready(): return True\n"
        "async def main():\n"
        f"    c = Component(Program('s', ['/bin/sleep', '60'], pathlib.Path({str(tmp_path / 'log')!r})), ready, 5)\n"
        "    await c.start()\n"
        "    while open(f'/proc/{c.pid}/comm').read().strip() != 'sleep': await asyncio.sleep(0.01)\n"
        "    print(c.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    starter = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE
    )
    assert starter.stdout is not None
    pid = int(await starter.stdout.readline())
    watched = os.pidfd_open(pid)
    gone = asyncio.Event()
    asyncio.get_running_loop().add_reader(watched, gone.set)
    starter.send_signal(signal.SIGKILL)
    await starter.wait()
    async with asyncio.timeout(60):
        await gone.wait()
    asyncio.get_running_loop().remove_reader(watched)
    os.close(watched)
