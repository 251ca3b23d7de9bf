"""Recycled workers: for packaged scripts only, one tenant each, and never after anything went wrong."""

import asyncio
import hashlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec import structs

from luaworker.call_outcome import Outcome
from luaworker.codes import Code
from luaworker.metrics import Metrics
from luaworker.pool import Pool
from luaworker.script_cache import program_digest
from luaworker.settings import Settings
from luaworker.wire import Call, Module, Task
from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import children_of, eventually, worker
from tests.component.luaworker.test_service import fetch
from tests.unit.lua_configuration.cases import FOLDER, packaged

_COUNT = b"n = (n or 0) + 1 return {n, obj.x, tostring({}), math.random()}"
_PACKAGED = packaged(FOLDER / "networking.istio.io/VirtualService/trafficRouting.lua")
_OBJECT = (
    b'{"stableService":"a","canaryService":"b","canaryWeight":10,"stableWeight":90,'
    b'"data":{"spec":{"http":[{"route":[{"destination":{"host":"a"}}]}]}}}'
)


class Trusting:
    """A pool, and a record of its calls."""

    def __init__(self, **settings: float) -> None:
        # No child is demoted: on a busy machine a demoted child gets no CPU, not even to end. No child ends at rest.
        rest: dict[str, float] = {"rest_after": 0, "queue_wait": 60, **settings}
        self.settings = Settings(listen="", concurrency=4, demote_after=600, **rest)  # type: ignore[arg-type] # numbers only
        self.metrics = Metrics()
        self.pool = Pool(self.settings, self.metrics)

    async def run(
        self,
        script: bytes,
        obj: bytes = b'{"x":1}',
        tenant: str = "t",
        *,
        trusted: bool = True,
        modules: tuple[Module, ...] = (),
    ) -> Outcome:
        digest = program_digest(hashlib.sha256(script).digest(), modules) if trusted else b""
        call = Call(Task.EXECUTE, self.settings.limits, b"s", script, obj, modules=modules)
        outcome, _waited = await self.pool.run(call, tenant, 30.0, digest)
        return outcome

    @property
    def recycled(self) -> int:
        """Calls on children that had served before."""
        (line,) = [
            x
            for x in self.metrics.render().splitlines()
            if x.startswith(b"lua_recycled_calls_total")
        ]
        return int(float(line.split()[1]))


@asynccontextmanager
async def trusting(**settings: float) -> AsyncIterator[Trusting]:
    pool = Trusting(**settings)
    try:
        await pool.pool.start()
        yield pool
    finally:
        await pool.pool.close()


async def test_a_packaged_script_is_served_again_by_the_same_child_in_a_fresh_state() -> None:
    async with trusting() as pool:
        answers = {(await pool.run(_COUNT)).result for _ in range(5)}
        assert len(answers) == 1
        assert answers.pop().startswith(b'[1,1,"table: 0x0001",')
        assert pool.recycled == 4


async def test_an_untrusted_script_never_is() -> None:
    async with trusting() as pool:
        answers = {(await pool.run(_COUNT, trusted=False)).result for _ in range(3)}
        assert pool.recycled == 0
        trusted = (await pool.run(_COUNT)).result
        assert answers == {trusted}


async def test_a_child_never_serves_two_tenants_or_two_scripts() -> None:
    async with trusting() as pool:
        await pool.run(_COUNT, tenant="a")
        await pool.run(_COUNT, tenant="b")
        await pool.run(_COUNT + b" ", tenant="a")
        assert pool.recycled == 0


async def test_a_child_never_serves_a_script_with_two_sets_of_modules() -> None:
    text = b"local n = 0 return {next = function() n = n + 1 return n end}"
    module, other = Module(b"counter", text, digest=b"1"), Module(b"counter", text, digest=b"2")
    script = b"return {counter.next(), counter.next()}"
    async with trusting() as pool:
        for modules in ((module,), (other,), (module,), (module,)):
            assert (await pool.run(script, modules=modules)).result == b"[1,2]"
        assert pool.recycled == 2


async def test_a_call_that_failed_ends_its_child() -> None:
    async with trusting() as pool:
        script = b"if obj.x == 2 then error('no') end return {}"
        assert (await pool.run(script)).code is Code.OK
        assert (await pool.run(script, b'{"x":2}')).code is Code.RUNTIME_ERROR
        assert pool.recycled == 1
        assert (await pool.run(script)).code is Code.OK
        assert pool.recycled == 1


async def test_every_call_has_its_own_limits_of_time() -> None:
    async with trusting(cpu_ms=60, wall_ms=8000) as pool:
        script = b"local n = 0 for i = 1, obj.x do n = n + i end return {n}"
        for _ in range(10):
            assert (await pool.run(script, b'{"x":300000}')).code is Code.OK
        assert pool.recycled > 0
        assert (await pool.run(script, b'{"x":1e12}')).code is Code.TIMEOUT
        deaf = b"if obj.x == 1 then return {} end xpcall(error, function() while true do end end)"
        assert (await pool.run(deaf)).code is Code.OK
        assert (await pool.run(deaf, b'{"x":2}')).code is Code.TIMEOUT


async def test_a_child_serves_no_more_than_its_number_of_calls() -> None:
    async with trusting(calls_per_recycled=3) as pool:
        for _ in range(6):
            await pool.run(_COUNT)
        assert pool.recycled == 4


async def test_an_idle_child_that_was_killed_costs_nobody_a_call() -> None:
    async with trusting() as pool:
        await pool.run(_COUNT)
        zygote = pool.pool.zygote_pid
        for pid in children_of(zygote):
            with suppress(ProcessLookupError):  # it had ended before, and was reaped just now
                os.kill(pid, signal.SIGKILL)
        assert (await pool.run(_COUNT)).code is Code.OK


async def test_idle_children_do_not_outlive_the_zygote() -> None:
    async with trusting() as pool:
        await pool.run(_COUNT)
        os.kill(pool.pool.zygote_pid, signal.SIGKILL)
        assert (await pool.run(_COUNT)).code is Code.OK


async def test_idle_children_end_except_two() -> None:
    async with trusting(rest_after=0.05) as pool:
        await asyncio.gather(*(pool.run(_COUNT) for _ in range(2)))
        await eventually(
            lambda: len(children_of(pool.pool.zygote_pid)) == pool.settings.spares_at_rest, "a rest"
        )
        assert pool.settings.spares_at_rest == 2
        assert (await pool.run(_COUNT)).code is Code.OK


async def test_calls_at_once_have_a_child_each() -> None:
    async with trusting() as pool:
        for _ in range(3):
            answers = await asyncio.gather(*(pool.run(_COUNT) for _ in range(2)))
            assert {answer.code for answer in answers} == {Code.OK}
        assert pool.recycled == 4


async def test_the_worker_knows_its_packaged_scripts(tmp_path: Path) -> None:
    async with worker(f"unix://{tmp_path}/w", metrics="127.0.0.1:0") as running:
        changed = structs.replace(_PACKAGED, text=_PACKAGED.text + b" ")
        for script in (_PACKAGED, changed, _PACKAGED, changed):
            assert (await running.run(script, _OBJECT)).code == pb.OK
        _status, figures = await fetch(running.start_entry["metrics_port"], "/metrics")
        assert "lua_recycled_calls_total 1.0" in figures


async def test_the_worker_trusts_a_packaged_script_with_its_own_modules_only(
    tmp_path: Path,
) -> None:
    ours = packaged(FOLDER / "gateway.networking.k8s.io/TCPRoute/trafficRouting.lua")
    changed = structs.replace(ours.modules[0], text=ours.modules[0].text + b" ")
    theirs = structs.replace(ours, modules=(changed, *ours.modules[1:]))
    obj = (
        b'{"stableService":"a","canaryService":"b","canaryWeight":10,"stableWeight":90,'
        b'"data":{"spec":{"rules":[{"backendRefs":[{"name":"a"}]}]}}}'
    )
    async with worker(f"unix://{tmp_path}/w", metrics="127.0.0.1:0") as running:
        for script in (ours, theirs, ours, theirs):
            assert (await running.run(script, obj)).code == pb.OK
        _status, figures = await fetch(running.start_entry["metrics_port"], "/metrics")
        assert "lua_recycled_calls_total 1.0" in figures
