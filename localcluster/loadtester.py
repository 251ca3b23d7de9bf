"""Flagger's own loadtester, in a network of its own, with one door on 127.0.0.1.

Why it exists: receivers of Flagger's hooks are told byte for byte what Flagger tells them, and only its own receiver
shows that. Why a network of its own: it listens on every interface, and runs the commands that anybody sends.
Invariant: nothing but the door leads to it. It must not know the product.
"""

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from localcluster.compile import Program
from localcluster.extras import Extra, ensure_extra
from localcluster.node import door
from localcluster.ports import free_ports
from localcluster.process import Component
from localcluster.process import Program as Process
from localcluster.progress import Reporter
from localcluster.traffic.namespace import inside

PACKAGE = "github.com/fluxcd/flagger/cmd/loadtester"
LOADTESTER = Extra(
    "loadtester", Program(Path(__file__).parent / "loadtester", PACKAGE, "Flagger's loadtester")
)
PORT = 9090
"""Inside."""
READY_SECONDS = 30.0


class Loadtester:
    """A running loadtester."""

    def __init__(self, address: str, log: Path) -> None:
        self.address = address
        self.log = log

    async def post(self, path: str, canary: Mapping[str, object]) -> int:
        """Send it what a person sends with curl, for example to open a gate; return the status."""
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.address}{path}", json=canary) as answer,
        ):
            return answer.status


@asynccontextmanager
async def started_loadtester(
    folder: Path, reporter: Reporter | None = None
) -> AsyncIterator[Loadtester]:
    """Run it; the first call on a machine compiles it: a minute."""
    built = await ensure_extra(LOADTESTER, reporter)
    (port,) = free_ports(1)
    address = f"http://127.0.0.1:{port}"
    log = folder / "loadtester.log"
    line = inside((str(built.binary), f"-port={PORT}", "-log-level=info"))
    tester = Component(
        Process("loadtester", line, log), lambda: _is_alone(tester.pid), READY_SECONDS
    )
    await tester.start()
    try:
        async with _opened(folder, tester.pid, port, address):
            yield Loadtester(address, log)
    finally:
        await tester.terminate()


@asynccontextmanager
async def _opened(folder: Path, pid: int, port: int, address: str) -> AsyncIterator[None]:
    pid_file = folder / "loadtester.pid"
    pid_file.write_text(str(pid))
    line = (sys.executable, str(door.__file__), str(pid_file), f"{port}=127.0.0.1:{PORT}")

    async def is_ready() -> bool:
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"{address}/healthz") as answer,
            ):
                return answer.status == 200
        except aiohttp.ClientError:
            return False

    opened = Component(Process("door", line, folder / "door.log"), is_ready, READY_SECONDS)
    await opened.start()
    try:
        yield
    finally:
        await opened.terminate()


async def _is_alone(pid: int) -> bool:
    """It has left our network; its health is seen through the door."""
    return os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
