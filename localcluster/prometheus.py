"""A real Prometheus on 127.0.0.1 that scrapes the given pages.

Why it exists: the queries of a metric gate, and their answers, can only be judged by the server that users run.
Invariant: the published program, with its own query engine and scraper; it listens on loopback only, keeps its data in
the folder it is given, and ends with its starter. It must not be needed by anything that has no gate.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import yaml

from localcluster.answering import Answering
from localcluster.compile import Program
from localcluster.extras import BuiltExtra, Extra, ensure_extra
from localcluster.ports import free_ports
from localcluster.process import Component
from localcluster.process import Program as Process
from localcluster.progress import Reporter

FOLDER = Path(__file__).parent / "prometheus"
MODULE = "github.com/prometheus/prometheus"
TAGS = "remove_all_sd,slicelabels"
PROMETHEUS = Extra(
    "prometheus", Program(FOLDER, f"{MODULE}/cmd/prometheus", "Prometheus", tags=TAGS)
)
PROMTOOL = Extra("promtool", Program(FOLDER, f"{MODULE}/cmd/promtool", "promtool", tags=TAGS))
"""The program that judges rules and plays them over series; it runs the tests of `deploy/monitoring`."""
READY_SECONDS = 90.0


class Prometheus:
    """A running server."""

    def __init__(self, component: Component, address: str) -> None:
        self.component = component
        self.address = address

    async def query(self, text: str) -> list[float]:
        """The values that a query answers now."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.address}/api/v1/query", params={"query": text}) as answer,
        ):
            body = await answer.json()
        return [float(series["value"][1]) for series in body["data"]["result"]]

    async def query_range(
        self, text: str, begin: float, end: float, step: float
    ) -> list[tuple[dict[str, str], list[tuple[float, float]]]]:
        """Labels and values of each series between two moments (seconds since the epoch), `step` seconds apart."""
        asked = {"query": text, "start": f"{begin}", "end": f"{end}", "step": f"{step}"}
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.address}/api/v1/query_range", params=asked) as answer,
        ):
            body = await answer.json()
        return [
            (series["metric"], [(float(at), float(value)) for at, value in series["values"]])
            for series in body["data"]["result"]
        ]


def configuration(targets: Sequence[str], interval: str) -> str:
    """The server's configuration: scrape these `host:port` pages."""
    job = {"job_name": "pages", "static_configs": [{"targets": list(targets)}]}
    scraped = {"global": {"scrape_interval": interval}, "scrape_configs": [job]}
    return yaml.safe_dump(scraped)


@asynccontextmanager
async def started_prometheus(
    folder: Path,
    targets: Sequence[str],
    *,
    interval: str = "500ms",
    reporter: Reporter | None = None,
) -> AsyncIterator[Prometheus]:
    """Run a Prometheus that scrapes `targets`; the first call on a machine compiles it: minutes."""
    built = await ensure_extra(PROMETHEUS, reporter)
    (port,) = free_ports(1)
    component = _component(built, folder, targets, interval, port)
    await component.start()
    try:
        yield Prometheus(component, f"http://127.0.0.1:{port}")
    finally:
        await component.terminate()


def _component(
    built: BuiltExtra, folder: Path, targets: Sequence[str], interval: str, port: int
) -> Component:
    config = folder / "prometheus.yml"
    config.write_text(configuration(targets, interval))
    line = (
        str(built.binary),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    )
    program = Process("prometheus", line, folder / "prometheus.log")
    return Component(program, Answering(f"http://127.0.0.1:{port}/-/ready"), READY_SECONDS)
