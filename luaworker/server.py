"""One worker process put together: pool, gRPC service, health, metrics; started in that order, stopped in the reverse.

Invariant: probes answer from the start and name the missing condition; the gRPC port answers as soon as there are
certificates for it, with UNAVAILABLE and the reason until the sandbox is proven; after a request to stop, no new call
begins, running calls end within the drain time, and no process is left.
"""

import asyncio
import ctypes
import gc
import logging
import os
import signal
from contextlib import suppress

import grpc.aio

from luaworker import httpd, packaged
from luaworker.errors import BadSetup
from luaworker.health import Health
from luaworker.httpd import Page
from luaworker.layers import packed
from luaworker.metrics import CONTENT_TYPE, Metrics
from luaworker.pool import Pool
from luaworker.service import RECEIVE_BYTES, Executor
from luaworker.settings import MEGABYTE, Settings
from luaworker.tls import missing_files, server_credentials, wait_for_files
from protos.luaworker.v1 import luaworker_pb2_grpc as pb_grpc

_log = logging.getLogger(__name__)
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_M_ARENA_MAX = -8
_UNLOCKED = (
    "RUNNING WITHOUT A LOCK (%s): a hostile script can take over this process' user; "
    "never do this outside a laptop"
)
_SEND_BYTES = 9 * MEGABYTE
_CONCURRENT_RPCS = 512
_OPTIONS = (
    ("grpc.max_receive_message_length", RECEIVE_BYTES),
    ("grpc.max_send_message_length", _SEND_BYTES),
    ("grpc.so_reuseport", 0),
    # A connection lasts half an hour, so that clients also connect to replicas that were added later.
    ("grpc.max_connection_age_ms", 30 * 60 * 1000),
    ("grpc.max_connection_age_grace_ms", 20 * 1000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
)


def _bind(server: grpc.aio.Server, settings: Settings) -> int:
    """Opens the port; returns its number if it is a TCP port."""
    local = settings.listen.startswith("unix:")
    if not local and not settings.tls_dir:
        _log.warning("listening without TLS: everyone who reaches this port can run scripts")
    try:
        if settings.tls_dir:
            return server.add_secure_port(settings.listen, server_credentials(settings.tls_dir))
        return server.add_insecure_port(settings.listen)
    except RuntimeError as problem:
        raise BadSetup(f"cannot listen on {settings.listen}: {problem}") from problem


def _probe_pages(pool: Pool, health: Health, tls_dir: str) -> httpd.Pages:
    def ready() -> Page:
        if health.serving:
            return Page(b"ok\n")
        return Page(f"not ready: {_awaited(tls_dir) or pool.problem or 'stopping'}\n".encode(), 503)

    return {"/healthz": lambda: Page(b"ok\n"), "/readyz": ready}


def _awaited(tls_dir: str) -> str:
    missing = missing_files(tls_dir) if tls_dir else ""
    return f"waiting for {missing} in {tls_dir}" if missing else ""


async def _certified(tls_dir: str, stopping: asyncio.Task[str]) -> bool:
    """Wait for the certificates if they are required; False if a stop was requested in the meantime."""
    if not tls_dir:
        return True
    if awaited := _awaited(tls_dir):
        _log.info(awaited)
    waiting = asyncio.create_task(wait_for_files(tls_dir))
    await asyncio.wait((waiting, stopping), return_when=asyncio.FIRST_COMPLETED)
    if not waiting.done():
        waiting.cancel()
        return False
    await waiting
    return True


async def _until_stopped() -> str:
    """The name of the signal that asked for the end."""
    stop: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def ask(name: str) -> None:
        if not stop.done():
            stop.set_result(name)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ask, number.name)
    return await stop


def _announce(
    settings: Settings,
    pool: Pool,
    port: int,
    metrics: asyncio.Server | None,
    probes: asyncio.Server | None,
) -> None:
    _log.info(
        "serving" if pool.ready else "listening, not ready",
        extra={
            "listen": settings.listen,
            "port": port,
            "metrics_port": httpd.port_of(metrics),
            "probe_port": httpd.port_of(probes),
            "concurrency": settings.running,
            "backend": pool.backend,
        },
    )


def _save_memory() -> None:
    """One heap for all of gRPC's threads: they take turns anyway, and separate heaps would never shrink."""
    with suppress(AttributeError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def _keep() -> None:
    """Modules and their objects are never freed, so the garbage collector need not visit them."""
    gc.collect()
    gc.freeze()


def _protect(parent: int) -> None:
    """No process may read this one's memory, and it ends with the command that started it."""
    prctl = ctypes.CDLL(None).prctl
    # Above all, no hostile child may read this process' memory or attach to it.
    prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    if parent:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            raise BadSetup(f"--parent {parent} is gone, or is not who started this worker")


async def run(settings: Settings) -> None:
    """Serves until a signal asks for the end."""
    _protect(settings.parent)
    _save_memory()
    if settings.without:
        _log.critical(_UNLOCKED, packed(settings.without))
    metrics, health, ours = Metrics(), Health(), packaged.hashes()
    pool = Pool(settings, metrics, health.set_serving, ours.library)
    stopping = asyncio.create_task(_until_stopped())
    pages = {"/metrics": lambda: Page(metrics.render(), content_type=CONTENT_TYPE)}
    metrics_server = await httpd.serve(settings.metrics_address, pages)
    probe_server = await httpd.serve(
        settings.probe_address, _probe_pages(pool, health, settings.tls_dir)
    )
    try:
        if await _certified(settings.tls_dir, stopping):
            server = grpc.aio.server(options=_OPTIONS, maximum_concurrent_rpcs=_CONCURRENT_RPCS)
            executor = Executor(pool, settings, metrics, ours)
            pb_grpc.add_LuaExecutorServicer_to_server(executor, server)
            await health.add_to(server)
            port = _bind(server, settings)
            try:
                await server.start()
                await pool.start()
                _keep()
                _announce(settings, pool, port, metrics_server, probe_server)
                _log.info("stopping", extra={"signal": await pool.until(stopping)})
                health.set_serving(False)
                await server.stop(settings.drain_seconds)
            finally:
                await server.stop(0)
    finally:
        stopping.cancel()
        await pool.close()
        for listener in (metrics_server, probe_server):
            if listener is not None:
                listener.close()
    _log.info("stopped")
