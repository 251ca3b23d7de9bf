"""Keeps all certificates as they have to be; who calls it decides how often.

One round: the Secret is brought up to date, its authorities are published, the serving pair is written where the server
reads it, and both sides of the worker's connection get theirs. Invariant: a round is safe to repeat and to run on every
replica at once; nothing is served before the authority that signed it was published once by somebody.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import msgspec

from controller.certificates.directory import write_files
from controller.certificates.publish import Address, Publisher
from controller.certificates.rotation import Bundle, due_within
from controller.certificates.secret import SecretStore, ensure_bundle
from controller.certificates.worker import (
    CLIENT_NAME,
    CLIENT_SECRET,
    WORKER_SECRET,
    ensure_side,
    worker_names,
)
from controller.runtime.clock import Clock


class Places(msgspec.Struct, frozen=True):
    """Where certificates go.

    `webhook_directory` gets `tls.crt` and `tls.key`; `client_directory` (None: the worker is called without TLS) gets
    `ca.crt`, `tls.crt` and `tls.key` for calling the worker.
    """

    secret: str
    webhook_directory: Path
    worker_service: str = ""
    client_directory: Path | None = None


WorkerChanged = Callable[[Mapping[str, bytes]], None]


def _nobody(files: Mapping[str, bytes]) -> None:
    pass


class CertificateKeeper:
    """Rounds over one installation's certificates."""

    def __init__(
        self,
        secrets: SecretStore,
        publisher: Publisher,
        address: Address,
        places: Places,
        clock: Clock,
        worker_changed: WorkerChanged = _nobody,
    ) -> None:
        """`worker_changed` is told the worker's files after each write of its Secret."""
        self._worker_changed = worker_changed
        self._secrets = secrets
        self._publisher = publisher
        self._address = address
        self._places = places
        self._clock = clock
        self._published = False
        self._remembered: Bundle | None = None

    def due_within(self) -> timedelta:
        """Time until the next round that nobody asks for."""
        if self._remembered is None:
            return timedelta(0)
        return due_within(self._remembered, self._clock.now())

    async def ensure(self) -> tuple[str, ...]:
        """One round; answers the names of configurations that are not installed (nothing can be published to them).

        Raises what the stores raise; nothing is lost by trying again.
        """
        places, now = self._places, self._clock.now()
        bundle = await ensure_bundle(
            self._secrets, places.secret, self._address.names(), self._published, now,
            self._remembered,
        )  # fmt: skip
        self._remembered = bundle
        self._published = False
        missing = await self._publisher.publish(bundle.trusted, now)
        self._published = not missing
        serving = {"tls.crt": bundle.serving.certificate, "tls.key": bundle.serving.key}
        await asyncio.to_thread(write_files, places.webhook_directory, serving)
        if places.client_directory is not None:
            files = await self._worker_files(bundle)
            await asyncio.to_thread(write_files, places.client_directory, files)
        return missing

    async def let_pass(self) -> None:
        """Put our name back into the webhook configurations, where somebody took it out."""
        await self._publisher.let_pass()

    async def _worker_files(self, bundle: Bundle) -> Mapping[str, bytes]:
        names = worker_names(self._places.worker_service, self._address.namespace)
        now = self._clock.now()
        worker = await ensure_side(self._secrets, WORKER_SECRET, bundle, names, now, client=False)
        if worker.written:
            self._worker_changed(worker.files)
        calling = await ensure_side(
            self._secrets, CLIENT_SECRET, bundle, (CLIENT_NAME,), now, client=True
        )
        return calling.files
