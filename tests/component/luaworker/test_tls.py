"""Mutual TLS on a live worker: accepted clients, and the replacement of certificates."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import grpc
import grpc.aio
import pytest
import pytest_asyncio

from localcluster.ports import free_ports
from protos.luaworker.v1 import luaworker_pb2 as pb
from protos.luaworker.v1 import luaworker_pb2_grpc as pb_grpc
from tests.component.luaworker.certificates import authority, write_pair
from tests.component.luaworker.process import Worker, worker


@pytest_asyncio.fixture
async def folders(tmp_path: Path) -> AsyncIterator[tuple[Path, Path, Path]]:
    """The server's directory, a client's of the same authority, and another authority's server pair and client."""
    ours = authority()
    server = write_pair(tmp_path / "server", ours, "localhost")
    friend = write_pair(tmp_path / "friend", ours, "controller")
    yield server, friend, tmp_path


async def _ask(port: object, folder: Path) -> bytes:
    credentials = grpc.ssl_channel_credentials(
        *((folder / name).read_bytes() for name in ("ca.crt", "tls.key", "tls.crt"))
    )
    async with grpc.aio.secure_channel(f"localhost:{port}", credentials) as channel:
        request = pb.ExecuteRequest(script=b"return {a = 1}", object_json=b"{}")
        answer = await pb_grpc.LuaExecutorStub(channel).Execute(request, timeout=60)
        return bytes(answer.result_json)


async def test_replaced_certificates_are_used_without_a_restart(
    folders: tuple[Path, Path, Path],
) -> None:
    server, friend, folder = folders
    async with worker("127.0.0.1:0", "--tls-dir", str(server)) as running:
        port = running.start_entry["port"]
        assert await _ask(port, friend) == b'{"a":1}'
        later = authority()
        fresh_server = write_pair(folder / "fresh-server", later, "localhost")
        fresh_client = write_pair(folder / "fresh-client", later, "controller")
        with pytest.raises(grpc.aio.AioRpcError):
            await _ask(port, fresh_client)
        for name in ("ca.crt", "tls.crt", "tls.key"):
            (fresh_server / name).replace(server / name)
        assert await _ask(port, fresh_client) == b'{"a":1}'
        with pytest.raises(grpc.aio.AioRpcError):
            await _ask(port, friend)


async def test_certificates_that_come_after_the_start_are_waited_for_and_probes_say_so(
    folders: tuple[Path, Path, Path],
) -> None:
    server, friend, folder = folders
    empty, (probes,) = folder / "empty", free_ports(1)
    empty.mkdir()
    flags = ("--listen=127.0.0.1:0", f"--tls-dir={empty}", "--metrics-bind-address=0")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "luaworker", *flags),
        f"--health-probe-bind-address=127.0.0.1:{probes}",
        stderr=asyncio.subprocess.PIPE,
    )
    running = Worker(process, "")
    try:
        status, page = await _page(probes, "/readyz")
        assert status == 503
        assert page == f"not ready: waiting for tls.key, tls.crt, ca.crt in {empty}\n"
        assert (await _page(probes, "/healthz"))[0] == 200
        for name in ("tls.crt", "ca.crt", "tls.key"):
            (server / name).replace(empty / name)
        await running.started()
        assert await _ask(running.start_entry["port"], friend) == b'{"a":1}'
        assert (await _page(probes, "/readyz"))[0] == 200
    finally:
        assert await running.stop() == 0


async def test_a_worker_that_waits_for_certificates_ends_when_it_is_asked_to(
    tmp_path: Path,
) -> None:
    (probes,) = free_ports(1)
    flags = ("--listen=127.0.0.1:0", f"--tls-dir={tmp_path}", "--metrics-bind-address=0")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "luaworker", *flags),
        f"--health-probe-bind-address=127.0.0.1:{probes}",
        stderr=asyncio.subprocess.PIPE,
    )
    running = Worker(process, "")
    await _page(probes, "/readyz")
    assert await running.stop() == 0


async def _page(port: int, path: str) -> tuple[int, str]:
    """The answer of a probe, once somebody answers there."""
    async with asyncio.timeout(60), aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                    return answer.status, await answer.text()
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda folder: (folder / "tls.key").unlink(), id="a-file-is-missing"),
        pytest.param(lambda folder: (folder / "tls.crt").write_bytes(b"half"), id="half-written"),
        pytest.param(
            lambda folder: (folder / "tls.key").write_bytes(
                b"-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"
            ),
            id="key-of-nobody",
        ),
    ],
)
async def test_a_pair_that_cannot_be_used_leaves_the_old_one_in_force(
    folders: tuple[Path, Path, Path], damage: object
) -> None:
    server, friend, _ = folders
    async with worker("127.0.0.1:0", "--tls-dir", str(server)) as running:
        port = running.start_entry["port"]
        assert callable(damage)
        damage(server)
        assert await _ask(port, friend) == b'{"a":1}'
