"""Scripts that exceed a limit: each is stopped in time, and the next one works."""

import pytest

from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import Worker


async def canary(worker: Worker) -> None:
    assert (await worker.run("return obj", '{"alive":true}')).result_json == b'{"alive":true}'


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("while true do end", id="loop"),
        pytest.param("while true do pcall(function() while true do end end) end", id="pcall"),
        pytest.param("local function f() return f() end f()", id="tail-calls"),
        pytest.param("table.sort({1,2,3}, function() while true do end end)", id="comparator"),
        pytest.param(
            "setmetatable(_G, {__index = function() while true do end end}) x()", id="index"
        ),
    ],
)
async def test_a_loop_is_stopped_and_its_line_named(shared_worker: Worker, script: str) -> None:
    answer = await shared_worker.run("\n" + script)
    assert (answer.code, answer.line) == (pb.TIMEOUT, 2), answer.message
    assert "CPU limit of 200 ms exceeded" in answer.message
    await canary(shared_worker)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("(('a'):rep(30000)):find('.-.-.-.-b') return {}", id="pattern"),
        pytest.param("xpcall(error, function() while true do end end) return {}", id="handler"),
        pytest.param("table.insert({}, -2^31 + 1, 1) return {}", id="insert"),
        pytest.param("if x then " + "elseif b then " * 60000 + " end", id="parser"),
    ],
)
async def test_code_that_no_hook_interrupts_is_killed(shared_worker: Worker, script: str) -> None:
    answer = await shared_worker.run(script)
    assert answer.code == pb.TIMEOUT, answer.message
    await canary(shared_worker)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("local s = 'x' while true do s = s .. s end", id="concat"),
        pytest.param("local t = {} while true do t[#t + 1] = {} end", id="tables"),
        pytest.param("local t = {} while true do t[#t+1] = ('x'):rep(2^20) .. #t end", id="rep"),
        pytest.param("return {(('x'):rep(2^24)):gsub('.', ('y'):rep(100))}", id="gsub"),
        # 40 MB: more than the script may have, and less than the limit of the whole process.
        pytest.param("local t = {} for i = 1, 40 do t[i] = ('x'):rep(2^20) .. i end", id="engine"),
    ],
)
async def test_memory_is_bounded(shared_worker: Worker, script: str) -> None:
    answer = await shared_worker.run(script)
    assert answer.code == pb.MEMORY_LIMIT, answer.message
    await canary(shared_worker)


async def test_a_huge_repetition_is_refused_at_once(shared_worker: Worker) -> None:
    answer = await shared_worker.run("return {('x'):rep(1e9)}")
    assert (answer.code, answer.line) == (pb.RUNTIME_ERROR, 1)


@pytest.mark.parametrize(
    "name",
    ["os", "io", "debug", "package", "require", "dofile", "loadfile", "python", "coroutine",
     "newproxy", "module"],
)  # fmt: skip
async def test_functions_that_reach_outside_are_absent(shared_worker: Worker, name: str) -> None:
    script = f"return {{here = {name} ~= nil or getfenv(0)['{name}'] ~= nil}}"
    assert (await shared_worker.run(script)).result_json == b'{"here":false}'


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("return {unpack({}, 0, 2147483647)}", id="unpack"),
        pytest.param("return {('a'):rep(2e5):find(('a?'):rep(2e5))}", id="pattern-depth"),
        pytest.param("return {loadstring('\\27Lua')()}", id="bytecode"),
    ],
)
async def test_known_crashes_of_the_engine_are_errors(shared_worker: Worker, script: str) -> None:
    answer = await shared_worker.run(script)
    assert answer.code == pb.RUNTIME_ERROR, answer
    await canary(shared_worker)


async def test_a_write_beyond_the_engines_stack_harms_nobody_else(shared_worker: Worker) -> None:
    # CVE-2014-5461: a vararg function with too many parameters writes beyond the stack. It is not predictable which
    # memory it overwrites.
    names = ",".join(f"a{i}" for i in range(150))
    script = f"local function g({names}, ...) end for i = 1, 1000 do g() end return {{}}"
    for _ in range(2):
        answer = await shared_worker.run(script)
        assert answer.code in (pb.CRASHED, pb.SANDBOX_VIOLATION, pb.OK), answer
        await canary(shared_worker)


async def test_wall_time_is_limited_too(shared_worker: Worker) -> None:
    limits = pb.Limits(cpu_ms=5000, wall_ms=50)
    answer = await shared_worker.run("while true do end", limits=limits)
    assert answer.code == pb.TIMEOUT
    assert "time limit of 50 ms" in answer.message
    await canary(shared_worker)


async def test_nothing_of_one_script_is_seen_by_the_next(shared_worker: Worker) -> None:
    await shared_worker.run("leak = 1 string.rep = nil obj.x = 1 return {}")
    answer = await shared_worker.run(
        "return {leak = leak == nil, rep = ('x'):rep(2), x = obj.x == nil}"
    )
    assert answer.result_json == b'{"leak":true,"rep":"xx","x":true}'


async def test_a_script_that_keeps_failing_is_not_run_for_a_while(shared_worker: Worker) -> None:
    script = "local breaker = 1 while true do end"
    codes = [(await shared_worker.run(script)).code for _ in range(4)]
    assert codes == [pb.TIMEOUT] * 3 + [pb.CIRCUIT_OPEN]
    await canary(shared_worker)
