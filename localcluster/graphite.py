"""A real server of Graphite's render API on 127.0.0.1: VictoriaMetrics, with Graphite's protocol for points.

Why it exists: the packaged source `graphite` can only be judged by a server that users run. Graphite itself is no Go
program; VictoriaMetrics is one, has Graphite's functions, and many who had Graphite run it now. Invariant: the
published program; it listens on loopback only, keeps its data in the folder it is given, and ends with its starter.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from localcluster.answering import Answering
from localcluster.compile import Program
from localcluster.extras import Extra, ensure_extra
from localcluster.ports import free_ports
from localcluster.process import Component
from localcluster.process import Program as Process
from localcluster.progress import Reporter

PACKAGE = "github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics"
VICTORIA = Extra(
    "victoria-metrics",
    Program(Path(__file__).parent / "victoria", PACKAGE, "VictoriaMetrics"),
)
READY_SECONDS = 90.0


class Graphite:
    """A running server."""

    def __init__(self, address: str, points: int) -> None:
        self.address = address
        self._points = points

    async def send(self, series: str, values: Mapping[int, float]) -> None:
        """Send values by Unix time, and return when a query sees them."""
        _, writer = await asyncio.open_connection("127.0.0.1", self._points)
        for at, value in values.items():
            writer.write(f"{series} {value} {at}\n".encode())
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        async with aiohttp.ClientSession() as session:
            while not await self._seen(session, series, max(values)):
                await session.get(f"{self.address}/internal/force_flush")

    async def _seen(self, session: aiohttp.ClientSession, series: str, at: int) -> bool:
        asked = {"target": series, "format": "json", "from": f"{at - 60}", "until": f"{at + 60}"}
        async with session.get(f"{self.address}/render", params=asked) as answer:
            return bool(await answer.json(content_type=None))


@asynccontextmanager
async def started_graphite(
    folder: Path, *, reporter: Reporter | None = None
) -> AsyncIterator[Graphite]:
    """Run a server; the first call on a machine compiles it: minutes."""
    built = await ensure_extra(VICTORIA, reporter)
    pages, points = free_ports(2)
    line = (
        str(built.binary),
        f"-httpListenAddr=127.0.0.1:{pages}",
        f"-graphiteListenAddr=127.0.0.1:{points}",
        f"-storageDataPath={folder / 'data'}",
        "-search.latencyOffset=0s",
        "-loggerLevel=WARN",
    )
    address = f"http://127.0.0.1:{pages}"
    process = Process("victoria-metrics", line, folder / "victoria-metrics.log")
    component = Component(process, Answering(f"{address}/health"), READY_SECONDS)
    await component.start()
    try:
        yield Graphite(address, points)
    finally:
        await component.terminate()
