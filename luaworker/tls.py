"""Mutual TLS from a directory that holds ca.crt, tls.crt and tls.key, as a mounted Secret does.

Invariant: a client without a certificate of that authority is refused; files that change are taken up with the next
handshake, without a restart; a pair that is only half written is not.
"""

from contextlib import suppress
from pathlib import Path

import grpc

from luaworker.errors import BadSetup

_FILES = ("tls.key", "tls.crt", "ca.crt")


def _read(folder: Path) -> tuple[bytes, ...]:
    return tuple((folder / name).read_bytes() for name in _FILES)


def _configuration(files: tuple[bytes, ...]) -> grpc.ServerCertificateConfiguration:
    key, certificate, authority = files
    return grpc.ssl_server_certificate_configuration([(key, certificate)], authority)


def server_credentials(directory: str) -> grpc.ServerCredentials:
    """Credentials that follow the files."""
    folder = Path(directory)
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise BadSetup(
            f"--tls-dir {directory}: {', '.join(missing)} missing; mount a Secret with "
            "ca.crt, tls.crt and tls.key there, or leave the flag out for a Unix socket"
        )
    current = _read(folder)

    def fetch() -> grpc.ServerCertificateConfiguration:
        nonlocal current
        with suppress(OSError):
            found = _read(folder)
            if all(b"-----END" in part for part in found):
                current = found
        return _configuration(current)

    return grpc.dynamic_ssl_server_credentials(
        _configuration(current), fetch, require_client_authentication=True
    )
