"""A metric source of one test over real HTTP: answers by the text of the query, and a record of the requests."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from aiohttp import web
from click.testing import CliRunner, Result

from controller.cli.main import cli

Value = float | None
Values = Callable[[str, float], Value]
"""By query and Unix time; None is no data."""


class Source:
    """A server of the Prometheus HTTP API."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.asked: list[tuple[str, dict[str, str], Mapping[str, str]]] = []
        self.port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def queries(self) -> set[str]:
        return {form["query"] for _, form, _ in self.asked if "query" in form}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        form = {key: str(value) for key, value in (await request.post()).items()}
        self.asked.append((request.path, form, request.headers))
        if request.path == "/health":
            return web.Response(text="degraded\n")
        if request.path == "/render":
            points = [[0.25, 1], [0.5, 2], [9.0, 3]]
            return web.json_response([{"target": request.query["target"], "datapoints": points}])
        if request.path == "/page.json":
            return web.json_response({"rate": 0.25})
        if request.path.endswith("/query_range"):
            return self._answer("matrix", self._series(form))
        value = self.values(form["query"], 0.0)
        return self._answer("vector", [] if value is None else [{"value": [0, str(value)]}])

    def _series(self, form: dict[str, str]) -> list[dict[str, Any]]:
        since, until, step = (float(form[name]) for name in ("start", "end", "step"))
        times = [since + place * step for place in range(int((until - since) / step) + 1)]
        found = [(at, self.values(form["query"], at)) for at in times]
        values = [[at, str(value)] for at, value in found if value is not None]
        return [{"metric": {}, "values": values}] if values else []

    def _answer(self, kind: str, result: list[dict[str, Any]]) -> web.Response:
        body = {"status": "success", "data": {"resultType": kind, "result": result}}
        return web.Response(text=json.dumps(body), content_type="application/json")


@contextlib.asynccontextmanager
async def source(values: Values) -> AsyncIterator[Source]:
    """The server, listening."""
    made = Source(values)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.port = runner.addresses[0][1]
    try:
        yield made
    finally:
        await runner.cleanup()


async def gate_test(*arguments: str) -> Result:
    """Run `gate test` in a thread of its own: it has its own event loop."""
    runner = CliRunner(env={"COLUMNS": "200"})
    return await asyncio.to_thread(runner.invoke, cli, ["gate", "test", *arguments])
