"""A page of metrics that a real Prometheus scrapes, with counters that a test or a demo drives.

Why it exists: gates are judged by series over time, not by single answers. Invariant: counters only grow while
somebody is served, as a real proxy's do; `reset` begins at zero again, as a restarted one does.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

TICK_SECONDS = 0.1


class MetricPage:
    """Requests by answering pod and code: their number for each tick, and the share of errors among them."""

    def __init__(self, label: str) -> None:
        self._label = label
        self.port = 0
        self.shares: dict[str, float] = {}
        self.per_tick = 20
        self.wide = 0
        """Series of `shop_wide`, each with a long label."""
        self._counts: Counter[tuple[str, str]] = Counter()

    @property
    def target(self) -> str:
        """What Prometheus scrapes."""
        return f"127.0.0.1:{self.port}"

    def serve(self, name: str, errors: float) -> None:
        """From now on requests are counted for this pod, with this share of errors."""
        self.shares[name] = errors

    def reset(self) -> None:
        """All counters are zero, as after a restart."""
        self._counts.clear()

    async def run(self) -> None:
        """Let time pass."""
        while True:
            for name, share in self.shares.items():
                wrong = round(self.per_tick * share)
                self._counts[name, "500"] += wrong
                self._counts[name, "200"] += self.per_tick - wrong
            await asyncio.sleep(TICK_SECONDS)

    async def page(self, _request: web.Request) -> web.Response:
        """The exposition text."""
        lines = ["# TYPE shop_requests_total counter"]
        lines += [
            f'shop_requests_total{{{self._label}="{name}",code="{code}"}} {count}'
            for (name, code), count in sorted(self._counts.items())
        ]
        lines += [f'shop_wide{{of="{number:0100}"}} 1' for number in range(self.wide)]
        return web.Response(text="\n".join(lines) + "\n")


@asynccontextmanager
async def served_page(label: str = "service") -> AsyncIterator[MetricPage]:
    """Serve the page while time passes; `label` names the answering pod."""
    found = MetricPage(label)
    app = web.Application()
    app.router.add_get("/metrics", found.page)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.port = runner.addresses[0][1]
    passing = asyncio.create_task(found.run())
    try:
        yield found
    finally:
        passing.cancel()
        await asyncio.gather(passing, return_exceptions=True)
        await runner.cleanup()
