"""The proof at start: it finds a lock that is open, and an open lock means that nothing runs."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from luaworker import pool as pool_module
from luaworker import spawn
from luaworker.errors import BrokenChild, NotReady, Overloaded
from luaworker.layers import Layer
from luaworker.metrics import Metrics
from luaworker.pool import Pool
from luaworker.selftest import prove
from luaworker.settings import Settings
from luaworker.spawn import Child, Zygote
from luaworker.wire import Call, Task
from tests.component.luaworker.process import worker

WITHOUT_FILTER = frozenset({Layer.SECCOMP})


async def zygote(without: frozenset[Layer]) -> tuple[Zygote, asyncio.Queue[Child]]:
    born: asyncio.Queue[Child] = asyncio.Queue()
    started = await Zygote.start(
        without=without,
        on_child=lambda _zygote, child: born.put_nowait(child),
        on_end=lambda _zygote: None,
    )
    return started, born


@pytest.mark.parametrize("filtered", [True, False], ids=["filter-on", "filter-off"])
async def test_the_self_test_finds_a_child_that_may_open_a_socket(filtered: bool) -> None:
    started, born = await zygote(frozenset() if filtered else WITHOUT_FILTER)

    async def take_child() -> Child:
        started.fork(1)
        return await born.get()

    try:
        verdict = await prove(take_child, without=frozenset(), complete=True)
    finally:
        started.end()
    if filtered:
        assert verdict.problem == ""
        assert verdict.proven == ("address-space", "cpu-timer", "wall-timer", "seccomp")
    else:
        assert verdict.proven == ()
        assert "(seccomp)" in verdict.problem


async def test_a_pool_without_proof_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Zygote.start

    async def without_filter(**arguments: object) -> Zygote:
        return await start(**{**arguments, "without": WITHOUT_FILTER})  # type: ignore[arg-type] # the flag under test

    monkeypatch.setattr(Zygote, "start", without_filter)
    settings = Settings(listen="")
    ready: list[bool] = []
    pool = Pool(settings, Metrics(), ready.append)
    try:
        await pool.start()
        assert not pool.ready
        assert True not in ready
        with pytest.raises(NotReady, match="seccomp"):
            await pool.run(Call(Task.EXECUTE, settings.limits, b"s", b"return {}", b"{}"), "", 1.0)
    finally:
        await pool.close()


async def test_a_pool_that_may_run_without_the_filter_runs() -> None:
    settings = Settings(listen="", without=WITHOUT_FILTER, queue_wait=60)
    pool = Pool(settings, Metrics())
    try:
        await pool.start()
        call = Call(Task.EXECUTE, settings.limits, b"s", b"return {a = 1}", b"{}")
        outcome, _waited = await pool.run(call, "", 60.0)
        assert outcome.result == b'{"a":1}'
    finally:
        await pool.close()


async def test_a_zygote_that_cannot_prepare_its_locks_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = "import os, types; os.uname = lambda: types.SimpleNamespace(machine='riscv64'); "
    monkeypatch.setattr(spawn, "_BOOT", elsewhere + spawn._BOOT)
    pool = Pool(Settings(listen=""), Metrics())
    try:
        await pool.start()
        assert not pool.ready
        assert pool.problem == "no system call filter for the architecture riscv64"
    finally:
        await pool.close()


async def test_a_zygote_that_hangs_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawn, "_STUCK_SECONDS", 0.1)
    monkeypatch.setattr(pool_module, "_LOOK_SECONDS", 0.05)
    settings = Settings(listen="", concurrency=1, queue_wait=60)
    pool = Pool(settings, Metrics())
    call = Call(Task.EXECUTE, settings.limits, b"s", b"return {a = 1}", b"{}")
    try:
        await pool.start()
        first = pool.zygote_pid
        os.kill(first, signal.SIGSTOP)
        async with asyncio.timeout(60):
            while pool.zygote_pid == first or not pool.ready:
                with suppress(Overloaded, NotReady, BrokenChild):
                    await pool.run(call, "", 1.0)
        outcome, _waited = await pool.run(call, "", 60.0)
        assert outcome.result == b'{"a":1}'
    finally:
        await pool.close()


async def test_a_worker_whose_zygote_nobody_would_replace_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(**_: object) -> Zygote:
        raise ZeroDivisionError

    monkeypatch.setattr(Zygote, "start", broken)
    pool = Pool(Settings(listen="", concurrency=1), Metrics())
    stopping = asyncio.create_task(asyncio.sleep(60, "SIGTERM"))
    try:
        async with asyncio.timeout(15):
            await pool.start()
            with pytest.raises(ZeroDivisionError):
                await pool.until(stopping)
    finally:
        stopping.cancel()
        await pool.close()


@pytest.mark.parametrize("hungry", [True, False], ids=["a-loop", "a-short-script"])
async def test_only_a_call_that_uses_much_cpu_yields_to_others(hungry: bool) -> None:
    metrics = Metrics()
    settings = Settings(listen="", concurrency=2, cpu_ms=200, wall_ms=8000, queue_wait=60)
    pool = Pool(settings, metrics)
    script = b"while true do end" if hungry else b"return {}"
    try:
        await pool.start()
        await pool.run(Call(Task.EXECUTE, settings.limits, b"s", script, b"{}"), "", 60.0)
        assert (b"lua_demotions_total 1.0" in metrics.render()) is hungry
    finally:
        await pool.close()


async def test_a_zygote_is_replaced_after_its_number_of_forks() -> None:
    settings = Settings(
        listen="", concurrency=2, recycle_forks=20, recycle_seconds=0.2, queue_wait=60
    )
    metrics = Metrics()
    pool = Pool(settings, metrics)
    try:
        await pool.start()
        call = Call(Task.EXECUTE, settings.limits, b"s", b"return {}", b"{}")
        async with asyncio.timeout(60):
            while b"lua_zygote_starts_total 3.0" not in metrics.render():
                outcome, _waited = await pool.run(call, "", 60.0)
                assert outcome.result == b"{}"
    finally:
        await pool.close()


async def test_running_without_the_filter_is_logged_as_a_warning(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w", "--insecure-no-seccomp") as running:
        assert any(entry["level"] == "critical" for entry in running.log)
        assert (await running.run("return {}")).result_json == b"{}"


async def test_a_pool_that_is_closed_while_it_proves_leaves_no_zygote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proving = asyncio.Event()
    started: list[Zygote] = []
    start = Zygote.start

    async def noted(**arguments: object) -> Zygote:
        started.append(await start(**arguments))  # type: ignore[arg-type] # passed on as they come
        return started[-1]

    async def endless(*_arguments: object, **_options: object) -> None:
        proving.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Zygote, "start", noted)
    monkeypatch.setattr(pool_module, "prove", endless)
    pool = Pool(Settings(listen=""), Metrics())
    starting = asyncio.create_task(pool.start())
    await proving.wait()
    await pool.close()
    starting.cancel()
    assert [zygote.alive for zygote in started] == [False]


async def test_a_self_test_that_fails_in_the_system_leaves_no_zygote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[Zygote] = []
    start = Zygote.start

    async def noted(**arguments: object) -> Zygote:
        started.append(await start(**arguments))  # type: ignore[arg-type] # passed on as they come
        return started[-1]

    async def out_of_files(*_arguments: object, **_options: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(Zygote, "start", noted)
    monkeypatch.setattr(pool_module, "prove", out_of_files)
    pool = Pool(Settings(listen=""), Metrics())
    try:
        await pool.start()
        assert "Too many open files" in pool.problem
        assert not started[0].alive
    finally:
        await pool.close()
        for zygote in started:
            zygote.end()
