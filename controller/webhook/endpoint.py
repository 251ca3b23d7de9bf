"""The webhook endpoint of one replica: certificate, server, and the authority in the configurations.

Order: the certificate is there before the port listens, and the port listens before the configurations
name the authority. Invariant: a replica that cannot do one of these is not ready, says why, and tries again; it never ends the process.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

from aiohttp import web

from controller.certificates.directory import write_files
from controller.certificates.publish import Publisher
from controller.certificates.secret import SecretStore, data_of, ensure_bundle
from controller.errors import MoonshiftError
from controller.runtime.clock import Clock
from controller.webhook.server import serving
from controller.webhook.tls import ServingTls

LOOK_AGAIN = timedelta(hours=6)
"""How often certificates are looked at; they are renewed months before they end."""
RETRY = timedelta(seconds=2)

log = logging.getLogger(__name__)


class Endpoint:
    """Serves `app` over TLS and keeps its certificate."""

    def __init__(
        self,
        app: web.Application,
        *,
        port: int,
        secrets: SecretStore,
        secret_name: str,
        names: tuple[str, ...],
        publisher: Publisher,
        files: Path,
        clock: Clock,
    ) -> None:
        self._app = app
        self._port = port
        self._secrets = secrets
        self._secret_name = secret_name
        self._names = names
        self._publisher = publisher
        self._files = files
        self._clock = clock
        self._published = False
        self.problem: str | None = "certificates are not ready"

    async def run(self) -> None:
        """Serve until cancelled."""
        trusted = await self._patiently()
        tls = ServingTls(self._files)
        async with (
            serving(self._app, "0.0.0.0", self._port, tls.context),
            _running(tls.run()),
        ):
            while True:
                await self._publish(trusted)
                await asyncio.sleep(LOOK_AGAIN.total_seconds())
                trusted = await self._patiently()

    async def _patiently(self) -> bytes:
        while True:
            try:
                return await self._certificate()
            except MoonshiftError as failure:
                self.problem = f"certificates: {failure}"
                log.warning("certificates are not ready", extra={"error": str(failure)})
            await asyncio.sleep(RETRY.total_seconds())

    async def _certificate(self) -> bytes:
        """The serving certificate as files; answers the authorities to trust."""
        bundle = await ensure_bundle(
            self._secrets, self._secret_name, self._names, self._published, self._clock.now()
        )
        await asyncio.to_thread(write_files, self._files, data_of(bundle))
        return bundle.trusted

    async def _publish(self, trusted: bytes) -> None:
        while True:
            try:
                missing = await self._publisher.publish(trusted)
            except MoonshiftError as failure:
                self._say(f"the authority could not be published: {failure}")
                await asyncio.sleep(RETRY.total_seconds())
                continue
            if not missing:
                self._published, self.problem = True, None
                return
            self._say(f"not installed: {', '.join(missing)}")
            await asyncio.sleep(RETRY.total_seconds())

    def _say(self, problem: str) -> None:
        if problem != self.problem:
            log.warning("webhooks are not ready", extra={"error": problem})
        self.problem = problem


@contextlib.asynccontextmanager
async def _running(work: object) -> AsyncIterator[None]:
    assert asyncio.iscoroutine(work)
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
