"""Probes and metrics over plain HTTP.

Invariants: `/healthz` answers as long as the event loop runs, because a restart helps only against a loop that does not
run; `/readyz` says whether to send traffic: a set of named checks that only read a flag and never wait, and the answer
names the failed ones. A page of metrics is rendered in a thread, so that a scrape never delays a reconcile. Every pod
of the cluster can connect, so the number of connections is bounded, and the oldest makes room: a kubelet that asks at
once is answered while others hold theirs.
"""

import asyncio
import logging
import re
import ssl
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from aiohttp import web

from controller.errors import BadConfiguration

Check = Callable[[], str | None]  # None: fine; else the reason why not


class Rendered(NamedTuple):
    """A page and its content type."""

    body: bytes
    content_type: str


class MetricsPage(Protocol):
    """The page of `/metrics`."""

    def look(self) -> None:
        """Read the state for the page; quick, on the event loop."""
        ...

    def render(self, accept: str) -> Rendered:
        """The page, in a format that `accept` names; slow, in a thread."""
        ...

    def let_go(self) -> None:
        """Forget the state that a look has read: its page is made; on the event loop."""
        ...


METRICS = "/metrics"
CONNECTIONS = 64
"""Connections of one port; one that says nothing costs memory, and nothing else would ever end it."""
HANDSHAKE_SECONDS = 5.0
COMPRESSED_IN_A_THREAD = 16 * 1024
"""Bytes of a page from which on it is compressed in a thread."""

_log = logging.getLogger(__name__)


def parse_address(address: str) -> tuple[str | None, int] | None:
    """`:8080`, `127.0.0.1:8080` or `[::1]:8080` as host and port; None for `0` and the empty string."""
    if address in ("", "0"):
        return None
    host, separator, port = address.rpartition(":")
    if not separator or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
        raise BadConfiguration(
            f"{address!r} is not an address; write host:port, or 0 to turn it off"
        )
    return host.strip("[]") or None, int(port)


class HealthServer:
    """`run` serves until cancelled; checks may be added at any time."""

    def __init__(self, probe_address: str, metrics_address: str, page: MetricsPage) -> None:
        self._probe_address = parse_address(probe_address)
        self._metrics_address = parse_address(metrics_address)
        self._page = page
        self._ready: dict[str, Check] = {}
        self._notes: dict[str, Check] = {}
        self.ports: dict[str, int] = {}
        self.listening = asyncio.Event()

    def add_ready_check(self, name: str, check: Check) -> None:
        """Fail `/readyz` while `check` gives a reason."""
        self._ready[name] = check

    def add_note(self, name: str, check: Check) -> None:
        """Show the text of `check` in `/readyz?verbose`; readiness does not depend on it."""
        self._notes[name] = check

    async def run(self) -> None:
        """Listen, then wait to be cancelled."""
        runners: list[web.AppRunner] = []
        try:
            for name, address, routes in self._sites():
                runner = web.AppRunner(_application(routes), access_log=None, shutdown_timeout=1.0)
                runners.append(runner)
                self.ports[name] = await listen(runner, address)
            self.listening.set()
            await asyncio.Event().wait()
        finally:
            self.listening.clear()
            for runner in runners:
                await runner.cleanup()

    def _sites(self) -> list[tuple[str, tuple[str | None, int], "Routes"]]:
        probes: Routes = {"/healthz": self._healthz, "/readyz": self._readyz}
        metrics: Routes = {METRICS: page_handler(self._page)}
        shared = self._probe_address if self._probe_address == self._metrics_address else None
        if shared is not None and shared[1] != 0:
            return [("probes", shared, probes | metrics)]
        sites = []
        if self._probe_address is not None:
            sites.append(("probes", self._probe_address, probes))
        if self._metrics_address is not None:
            sites.append(("metrics", self._metrics_address, metrics))
        return sites

    async def _healthz(self, _request: web.Request) -> web.Response:
        return _answer({})

    async def _readyz(self, request: web.Request) -> web.Response:
        return _answer(self._ready, self._notes if "verbose" in request.query else {})


def page_handler(page: MetricsPage) -> "Handler":
    """Answers a scrape with the page."""

    async def answer(request: web.Request) -> web.Response:
        page.look()
        try:
            made = await asyncio.to_thread(page.render, request.headers.get("Accept", ""))
        finally:
            page.let_go()
        response = web.Response(
            body=made.body,
            headers={"Content-Type": made.content_type},
            zlib_executor_size=COMPRESSED_IN_A_THREAD,
        )
        response.enable_compression()
        return response

    return answer


Handler = Callable[[web.Request], Awaitable[web.Response]]
Routes = dict[str, Handler]


def _application(routes: Routes) -> web.Application:
    application = web.Application()
    for path, handler in routes.items():
        application.router.add_get(path, handler)
    return application


async def listen(
    runner: web.AppRunner, address: tuple[str | None, int], tls: ssl.SSLContext | None = None
) -> int:
    """Listen, with TLS if a context is given; returns the port. Raises BadConfiguration."""
    host, port = address
    await runner.setup()
    try:
        await _Site(runner, host, port, tls).start()
    except OSError as failure:
        raise BadConfiguration(f"cannot listen on {host or ''}:{port}: {failure}") from failure
    bound = runner.addresses[0]
    _log.debug("listening", extra={"address": str(bound)})
    return int(bound[1])


class _Site(web.BaseSite):
    """A port with a bounded number of connections."""

    def __init__(
        self, runner: web.AppRunner, host: str | None, port: int, tls: ssl.SSLContext | None
    ) -> None:
        super().__init__(runner, ssl_context=tls)
        self._address = (host, port)

    @property
    def name(self) -> str:
        """As people write it."""
        return "{}:{}".format(*self._address)

    async def start(self) -> None:
        """Listen."""
        await super().start()
        server = self._runner.server
        assert server is not None

        def make() -> asyncio.Protocol:
            open_now = server.connections
            for oldest in open_now[: max(0, len(open_now) + 1 - CONNECTIONS)]:
                oldest.force_close()
            made: asyncio.Protocol = server()
            return made

        host, port = self._address
        self._server = await asyncio.get_running_loop().create_server(
            make,
            host,
            port,
            ssl=self._ssl_context,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if self._ssl_context is not None else None,
        )


def _answer(checks: dict[str, Check], notes: dict[str, Check] | None = None) -> web.Response:
    """The list of checks in the form of the API server's own `/readyz?verbose`."""
    lines = []
    failed = False
    for name, check in sorted(checks.items()):
        reason = check()
        failed = failed or reason is not None
        lines.append(f"[+]{name} ok" if reason is None else f"[-]{name} failed: {reason}")
    for name, note in sorted((notes or {}).items()):
        lines.append(f"[~]{name} {note() or 'ok'}")
    lines.append("failed" if failed else "ok")
    return web.Response(status=503 if failed else 200, text="\n".join(lines) + "\n")
