"""Metrics over TLS, for chosen accounts only.

Invariant: nothing is answered without TLS, and no page without a verdict; a replica without a certificate does not
listen, and its readiness for everything else does not change.
"""

import asyncio
import ssl
from enum import StrEnum
from typing import Protocol

from aiohttp import web

from controller.errors import BadConfiguration
from controller.telemetry.health import METRICS, MetricsPage, listen, page_handler, parse_address


class Verdict(StrEnum):
    """Answers to a request; the value is the sentence for its sender."""

    ALLOWED = "allowed"
    UNKNOWN = "send the token of a ServiceAccount: Authorization: Bearer TOKEN"
    FORBIDDEN = (
        "this account may not get /metrics: bind it to the ClusterRole moonshift-metrics-reader"
    )
    BUSY = "too many tokens were sent that are not known: try again in a while"
    UNCHECKED = "the API server could not be asked about this token: try again in a while"


CODES = {
    Verdict.UNKNOWN: 401,
    Verdict.FORBIDDEN: 403,
    Verdict.BUSY: 429,
    Verdict.UNCHECKED: 503,
}
"""The status codes of the answers, the same as the API server's."""


class Judge(Protocol):
    """Judges requests; raises nothing."""

    problem: str | None

    async def judge(self, authorization: str) -> Verdict:
        """The verdict on the header `Authorization` of a request."""
        ...


class Certificate(Protocol):
    """The certificate that scrapers are shown."""

    async def context(self) -> ssl.SSLContext:
        """The TLS context, once there is a certificate."""
        ...

    async def keep(self) -> None:
        """Load renewed certificates into the context, until cancelled."""
        ...


class SecureMetrics:
    """`run` serves until cancelled."""

    def __init__(
        self,
        address: str,
        probe_address: str,
        page: MetricsPage,
        judge: Judge,
        certificate: Certificate,
    ) -> None:
        """Raises BadConfiguration if probes use the same port: kubelets send no token."""
        self._address = parse_address(address)
        if self._address is not None and self._address == parse_address(probe_address):
            raise BadConfiguration(
                f"--metrics-secure: probes and metrics are both on {address}, and probes are asked without a token; "
                "give --metrics-bind-address another port"
            )
        self._handler = page_handler(page)
        self._judge = judge
        self._certificate = certificate
        self.port = 0
        self.listening = asyncio.Event()

    def why_closed(self) -> str | None:
        """Why no account can read them at present."""
        if self._address is not None and not self.listening.is_set():
            return "not listening yet: there is no certificate"
        return self._judge.problem

    async def run(self) -> None:
        """Listen as soon as there is a certificate, then wait to be cancelled."""
        if self._address is None:
            await asyncio.Event().wait()
            return
        context = await self._certificate.context()
        application = web.Application()
        application.router.add_get(METRICS, self._guarded)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        try:
            self.port = await listen(runner, self._address, context)
            self.listening.set()
            await self._certificate.keep()
        finally:
            self.listening.clear()
            await runner.cleanup()

    async def _guarded(self, request: web.Request) -> web.StreamResponse:
        verdict = await self._judge.judge(request.headers.get("Authorization", ""))
        if verdict is Verdict.ALLOWED:
            return await self._handler(request)
        headers = {"WWW-Authenticate": "Bearer"} if verdict is Verdict.UNKNOWN else {}
        return web.Response(status=CODES[verdict], text=f"{verdict}\n", headers=headers)
