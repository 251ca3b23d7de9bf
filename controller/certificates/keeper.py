"""Keeps all certificates up to date; its caller decides how often.

One round: the Secret is brought up to date, its authorities are published, the serving pair is written where the server
reads it, and both sides of the worker's connection get theirs. Invariant: a round is safe to repeat and to run on every
replica at once; no certificate is served before a replica has published its authority. A certificate
of another issuer is served instead of ours while it is valid, and never for the connection to the worker.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from controller.certificates.directory import write_files
from controller.certificates.for_worker import (
    CLIENT_NAME,
    CLIENT_SECRET,
    WORKER_SECRET,
    ensure_side,
    worker_names,
)
from controller.certificates.issued import Issued, Unusable, read_issued
from controller.certificates.publish import Address, Publisher
from controller.certificates.rotation import Bundle, due_within
from controller.certificates.secret import SecretSnapshot, SecretStore, ensure_bundle
from controller.errors import Forbidden
from controller.runtime.clock import Clock

log = logging.getLogger(__name__)


class Places(msgspec.Struct, frozen=True):
    """The places to which certificates are written.

    `webhook_directory` gets `tls.crt` and `tls.key`; `client_directory` (None: the worker is called without TLS) gets
    `ca.crt`, `tls.crt` and `tls.key` for calling the worker. `issued_secret` names the Secret of a serving certificate
    that somebody else issues; empty: ours is served.
    """

    secret: str
    webhook_directory: Path
    worker_service: str = ""
    client_directory: Path | None = None
    issued_secret: str = ""


WorkerChanged = Callable[[Mapping[str, bytes]], None]


def _nobody(files: Mapping[str, bytes]) -> None:
    pass


class _Counted:
    """Secrets, and how often they were written."""

    def __init__(self, secrets: SecretStore) -> None:
        self._secrets = secrets
        self.written = 0

    async def read(self, name: str) -> SecretSnapshot | None:
        return await self._secrets.read(name)

    async def create(self, name: str, data: Mapping[str, bytes]) -> None:
        await self._secrets.create(name, data)
        self.written += 1

    async def replace(self, name: str, data: Mapping[str, bytes], resource_version: str) -> None:
        await self._secrets.replace(name, data, resource_version)
        self.written += 1


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
        """`worker_changed` is called with the worker's files after each write of its Secret."""
        self._worker_changed = worker_changed
        self._secrets = _Counted(secrets)
        self._publisher = publisher
        self._address = address
        self._places = places
        self._clock = clock
        self._published = False
        self._remembered: Bundle | None = None
        self._issued: Issued | None = None
        self._turn: datetime | None = None
        """When another issuer's certificate can be served, or can be served no longer."""
        self.note: str | None = None
        """Why our own certificate is served instead of the requested one; None if the requested one is served."""

    @property
    def written(self) -> int:
        """The number of writes so far, of Secrets and of configurations."""
        return self._secrets.written + self._publisher.written

    def due_within(self) -> timedelta:
        """The time until the next scheduled round."""
        if self._remembered is None:
            return timedelta(0)
        now = self._clock.now()
        due = due_within(self._remembered, now)
        return min(due, self._turn - now) if self._turn else due

    async def ensure(self) -> tuple[str, ...]:
        """One round; returns the names of configurations that are not installed (nothing can be published to them).

        Raises the stores' errors; a failed round can be repeated.
        """
        places, now = self._places, self._clock.now()
        self._issued = await self._read_issued() if places.issued_secret else None
        bundle = await ensure_bundle(
            self._secrets, places.secret, self._address.names(), self._published, now,
            self._remembered, self._others(),
        )  # fmt: skip
        self._remembered = bundle
        self._published = False
        missing = await self._publisher.publish(bundle.published, now)
        self._published = not missing
        served = self._issued.serving if self._issued else bundle.serving
        serving = {"tls.crt": served.certificate, "tls.key": served.key}
        await asyncio.to_thread(write_files, places.webhook_directory, serving)
        if places.client_directory is not None:
            files = await self._worker_files(bundle)
            await asyncio.to_thread(write_files, places.client_directory, files)
        return missing

    async def let_pass(self) -> None:
        """Write our name into the webhook configurations again if somebody removed it."""
        await self._publisher.let_pass()

    def _others(self) -> bytes | None:
        """The authority of a certificate from another issuer: empty without one, None while it cannot be used."""
        if not self._places.issued_secret:
            return b""
        return self._issued.authority if self._issued else None

    async def _read_issued(self) -> Issued | None:
        """The certificate of another issuer, if it can be used."""
        name = self._places.issued_secret
        try:
            seen = await self._secrets.read(name)
        except Forbidden as missing:
            found: Issued | Unusable = Unusable(f"it cannot be read: {missing}")
        else:
            data = seen.data if seen else None
            found = read_issued(data, self._address.called(), self._clock.now())
        self._turn = found.until if isinstance(found, Issued) else found.begins
        if isinstance(found, Issued):
            self.note = None
            return found
        note = f"Secret {name}: {found.message}. Moonshift's own certificate is served until then"
        if note != self.note:
            log.warning("the issued certificate cannot be used", extra={"error": note})
        self.note = note
        return None

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
