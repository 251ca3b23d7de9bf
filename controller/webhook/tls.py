"""The serving certificate, exchanged under a running server.

Invariant: new connections get the newest pair that could be loaded; a pair that cannot be loaded (half written, key and
certificate of different generations, no readable end of validity) leaves the one in use alone. The authorities of
clients are followed in the same way. Two threads may reload at the same time; they load one after the other.
"""

import asyncio
import logging
import ssl
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from cryptography import x509

from controller.certificates.authority import UNREADABLE

log = logging.getLogger(__name__)

Loaded = Callable[[datetime], None]
"""Gets the end of validity of each certificate that was loaded."""
CERTIFICATE, KEY = "tls.crt", "tls.key"


class ServingTls:
    """A TLS context over the files `tls.crt` and `tls.key` of a directory."""

    def __init__(
        self,
        directory: Path,
        client_authority: Path | None = None,
        loaded: Loaded | None = None,
    ) -> None:
        """The files must be there: load them before the server starts.

        With a `client_authority` a client may present a certificate, and one that it did not sign ends the handshake.
        """
        self._directory = directory
        self._client_authority = client_authority
        self._loaded = loaded
        self._seen: tuple[float, ...] = ()
        self._loading = threading.Lock()
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        if client_authority is not None:
            # Not required: API servers present none when they ask for a conversion.
            self.context.verify_mode = ssl.CERT_OPTIONAL
        self._load()

    def _load(self) -> None:
        stamp = self._stamp()
        files = (self._directory / CERTIFICATE, self._directory / KEY)
        ends = _end_of(files[0].read_bytes())
        # A throw-away context first: a failed load must not leave half a pair in the one in use.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*files)
        if self._client_authority is not None:
            # A context in use can only be given more authorities: those before are trusted until the process ends.
            self.context.load_verify_locations(self._client_authority)
        self.context.load_cert_chain(*files)
        self._seen = stamp
        if self._loaded is not None:
            self._loaded(ends)

    def _stamp(self) -> tuple[float, ...]:
        files = [self._directory / name for name in (CERTIFICATE, KEY)]
        if self._client_authority is not None:
            files.append(self._client_authority)
        return tuple(file.stat().st_mtime_ns for file in files)

    def is_outdated(self) -> bool:
        """Whether the files are not those that are in use."""
        try:
            return self._stamp() != self._seen
        except OSError:
            return True

    def reload(self) -> bool:
        """Load the files again if they changed; return whether a new pair is in use."""
        try:
            with self._loading:
                if not self.is_outdated():
                    return False
                self._load()
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            log.warning("serving certificate in %s cannot be loaded: %s", self._directory, error)
            return False
        log.info("serving certificate in %s loaded again", self._directory)
        return True

    async def run(self, interval: float = 10.0) -> None:
        """Look for new files every `interval` seconds, for ever."""
        while True:
            await asyncio.sleep(interval)
            await asyncio.to_thread(self.reload)


def _end_of(certificate: bytes) -> datetime:
    """Until when it holds. Raises ValueError if it cannot be read."""
    try:
        return x509.load_pem_x509_certificate(certificate).not_valid_after_utc
    except UNREADABLE as failure:
        raise ValueError(str(failure)) from failure
