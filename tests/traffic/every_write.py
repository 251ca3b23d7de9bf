"""A way to the API server that ends the controller at its writes, one after the other, without an end.

Invariant: the moments at a write come in turn, so that two of three writes take effect and every release goes on. A
write that is under way while the controller is being ended passes.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import cycle

from aiohttp import web

from demo.stage import NAMESPACE
from localcluster.plane import Plane
from tests.kill.proxy import UNCOUNTED, WRITES, Moment, WriteProxy


class EveryWrite(WriteProxy):
    """Kills at every n-th write to any object of any namespace but the product's own."""

    def __init__(self, plane: Plane, namespace: str) -> None:
        super().__init__(plane, namespace)
        self._moments = cycle(Moment)
        self._every = 1
        self.dying = asyncio.Event()

    def strike(self, kill: Callable[[], Awaitable[None]], every: int) -> None:
        """Begin; after each kill nothing happens until `dying` is cleared."""
        self._every = every
        self.watch("", kill)

    def _count(self, request: web.Request) -> Moment | None:
        meant = self._meant(request)
        if meant is None or self.dying.is_set() or not self._counting:
            return None
        self.writes.append(meant)
        if len(self.writes) % self._every:
            return None
        self.dying.set()
        return next(self._moments)

    def _meant(self, request: web.Request) -> str | None:
        if request.method not in WRITES or "dryRun" in request.query:
            return None
        _, _, inside = request.path.partition("/namespaces/")
        namespace, _, rest = inside.partition("/")
        resource, _, _ = rest.partition("/")
        if not resource or resource in UNCOUNTED or namespace == NAMESPACE:
            return None
        return f"{request.method} {resource}"
