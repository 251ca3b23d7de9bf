"""The gRPC face, the health service, and the two small HTTP servers."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc
import grpc.aio
import pytest
import pytest_asyncio

from luaworker import __version__
from luaworker.codes import Code
from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.certificates import authority, write_pair
from tests.component.luaworker.process import ROOT, Worker, worker


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worker]:
    folder = tmp_path_factory.mktemp("served")
    async with worker(f"unix://{folder}/w", metrics="127.0.0.1:0", probes="127.0.0.1:0") as running:
        yield running


async def fetch(port: object, path: str, method: str = "GET") -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(str(port)))
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    return int(answer.split(" ")[1]), answer.partition("\r\n\r\n")[2]


Ask = Callable[..., grpc.aio.UnaryUnaryCall[bytes, bytes]]
Watch = Callable[..., grpc.aio.UnaryStreamCall[bytes, bytes]]


def test_the_codes_are_those_of_the_protocol() -> None:
    assert {code.name: code.value for code in Code} == dict(pb.Code.items())


async def test_a_script_known_by_its_hash_needs_not_be_sent_again(served: Worker) -> None:
    script = b"return {hash = obj.n}"
    digest = hashlib.sha256(script).digest()
    request = pb.ExecuteRequest(script_sha256=digest, object_json=b'{"n":7}')
    assert (await served.stub.Execute(request)).code == pb.NEED_SCRIPT
    await served.run(script)
    assert (await served.stub.Execute(request)).result_json == b'{"hash":7}'


async def test_a_script_that_is_too_large_is_refused(served: Worker) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match="more than the") as caught:
        await served.run(b" " * (1024 * 1024 + 1))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_call_without_a_script_is_refused(served: Worker) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match="neither script nor script_sha256") as caught:
        await served.stub.Execute(pb.ExecuteRequest(object_json=b"{}"))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("field", ["script_name", "tenant"])
async def test_names_that_nobody_has_are_refused(served: Worker, field: str) -> None:
    execute = pb.ExecuteRequest(script=b"return {}", object_json=b"{}")
    validate = pb.ValidateRequest(script=b"return {}")
    for request in (execute, validate):
        setattr(request, field, "n" * 1_000_000)
    for call in (served.stub.Execute(execute), served.stub.Validate(validate)):
        with pytest.raises(grpc.aio.AioRpcError, match=f"{field} has 1000000 characters") as caught:
            await call
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_figures_of_a_call_come_with_it(served: Worker) -> None:
    answer = await served.run("local x = 0 for i = 1, 2e6 do x = x + i end return {}")
    assert 0 < answer.cpu_ms < 500
    assert answer.wall_ms > 0
    assert answer.peak_memory > 10_000
    assert answer.backend == "lua51"


async def test_probes_and_metrics_are_served(served: Worker) -> None:
    await served.run("return {}")
    for _ in range(4):
        await served.run("local s = 'x' while true do s = s .. s end", tenant="hungry")
    await served.stub.Execute(pb.ExecuteRequest(script_sha256=b"nobody's"))
    entry = served.start_entry
    assert await fetch(entry["probe_port"], "/healthz") == (200, "ok\n")
    assert await fetch(entry["probe_port"], "/readyz") == (200, "ok\n")
    assert (await fetch(entry["probe_port"], "/other"))[0] == 404
    assert (await fetch(entry["metrics_port"], "/metrics", "POST"))[0] == 405
    status, text = await fetch(entry["metrics_port"], "/metrics?x=1")
    assert status == 200
    for line in (
        'lua_exec_total{backend="lua51",code="OK"}',
        'lua_exec_total{backend="lua51",code="MEMORY_LIMIT"} 3.0',
        'lua_exec_total{backend="lua51",code="CIRCUIT_OPEN"} 1.0',
        'lua_exec_total{backend="lua51",code="NEED_SCRIPT"}',
        'lua_exec_seconds_bucket{le="0.001",phase="queue"}',
        'lua_sandbox_selftest{lock="seccomp"} 1.0',
        "lua_pool_ready",
        "lua_zygote_restarts_total 0.0",
    ):
        assert line in text


async def test_the_health_service_says_serving(served: Worker) -> None:
    check: Ask = served.channel.unary_unary("/grpc.health.v1.Health/Check")
    watch: Watch = served.channel.unary_stream("/grpc.health.v1.Health/Watch")
    assert await check(b"") == b"\x08\x01"
    named = b"\x0a\x18luaworker.v1.LuaExecutor"
    assert await check(named) == b"\x08\x01"
    call = watch(named)
    assert await call.read() == b"\x08\x01"
    call.cancel()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await check(b"\x0a\x05other")
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_nothing_of_a_request_is_logged(served: Worker) -> None:
    await served.run("error('s3cret')", '{"password":"s3cret"}', name="s3cret")
    assert "s3cret" not in str(served.log)


async def command(*flags: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        str(ROOT / ".venv/bin/python"), "-m", "luaworker", *flags, cwd=ROOT,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def test_the_version_is_reported() -> None:
    assert await command("--version") == (0, f"moonshift luaworker {__version__}\n")


async def test_a_missing_folder_of_certificates_is_named(tmp_path: Path) -> None:
    flags = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
    code, output = await command(
        "--listen", "127.0.0.1:0", "--tls-dir", str(tmp_path / "gone"), *flags
    )
    assert code == 2
    assert f"--tls-dir {tmp_path}/gone: no such directory" in output


async def test_a_wrong_address_is_named() -> None:
    code, output = await command("--listen", "unix:///x", "--metrics-bind-address", "8080x")
    assert code == 2
    assert "is not an address" in output


async def test_only_clients_of_the_same_authority_are_let_in(tmp_path: Path) -> None:
    ours, foreign = authority(), authority()
    server = write_pair(tmp_path / "server", ours, "localhost")
    friend = write_pair(tmp_path / "friend", ours, "controller")
    stranger = write_pair(tmp_path / "stranger", foreign, "controller")
    (stranger / "ca.crt").write_bytes((server / "ca.crt").read_bytes())
    async with worker("127.0.0.1:0", "--tls-dir", str(server)) as running:
        target = f"localhost:{running.start_entry['port']}"

        async def ask(folder: Path) -> bytes:
            credentials = grpc.ssl_channel_credentials(
                (folder / "ca.crt").read_bytes(),
                (folder / "tls.key").read_bytes(),
                (folder / "tls.crt").read_bytes(),
            )
            async with grpc.aio.secure_channel(target, credentials) as channel:
                check: Ask = channel.unary_unary("/grpc.health.v1.Health/Check")
                return bytes(await check(b"", timeout=60))

        assert await ask(friend) == b"\x08\x01"
        with pytest.raises(grpc.aio.AioRpcError):
            await ask(stranger)


@pytest.mark.parametrize(
    ("modules", "status"),
    [
        ([pb.Module(name="Bad", text=b"")], grpc.StatusCode.INVALID_ARGUMENT),
        ([pb.Module(name="", text=b"")], grpc.StatusCode.INVALID_ARGUMENT),
        ([pb.Module(name="a" * 33, text=b"")], grpc.StatusCode.INVALID_ARGUMENT),
        ([pb.Module(name="twice", text=b"")] * 2, grpc.StatusCode.INVALID_ARGUMENT),
        ([pb.Module(name="long", text=b" " * (600 << 10))], grpc.StatusCode.RESOURCE_EXHAUSTED),
        ([pb.Module(name=f"m{n}") for n in range(40)], grpc.StatusCode.RESOURCE_EXHAUSTED),
    ],
)
async def test_modules_that_no_library_has_are_refused(
    served: Worker, modules: list[pb.Module], status: grpc.StatusCode
) -> None:
    request = pb.ExecuteRequest(script=b"return {}", object_json=b"{}", modules=modules)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await served.stub.Execute(request, timeout=60)
    assert caught.value.code() is status


async def test_the_worker_says_how_many_modules_it_knows_of(served: Worker) -> None:
    modules = [pb.Module(name="a", text=b"return {}"), pb.Module(name="b", text=b"return {}")]
    for script in (b"return {}", b"error('x')"):
        request = pb.ExecuteRequest(script=script, object_json=b"{}", modules=modules)
        assert (await served.stub.Execute(request, timeout=60)).modules == 2
    request = pb.ExecuteRequest(script_sha256=b"unknown", object_json=b"{}", modules=modules)
    answer = await served.stub.Execute(request, timeout=60)
    assert (answer.code, answer.modules) == (pb.NEED_SCRIPT, 2)
