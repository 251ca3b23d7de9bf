"""Mutual TLS from a directory that holds ca.crt, tls.crt and tls.key, as a mounted Secret does.

Invariant: a client without a certificate of that authority is refused; files that are not there yet are waited for;
changed files are used from the next handshake on, without a restart; a half-written pair is not used.
"""

import asyncio
from contextlib import suppress
from pathlib import Path

import grpc

from luaworker.errors import BadSetup

_FILES = ("tls.key", "tls.crt", "ca.crt")
LOOK_SECONDS = 0.5
"""Between two looks for files that are not there yet."""


def _read(folder: Path) -> tuple[bytes, ...]:
    return tuple((folder / name).read_bytes() for name in _FILES)


def _configuration(files: tuple[bytes, ...]) -> grpc.ServerCertificateConfiguration:
    key, certificate, authority = files
    return grpc.ssl_server_certificate_configuration([(key, certificate)], authority)


def missing_files(directory: str) -> str:
    """Names of the files that are not there, or not written to their end, with commas; empty when all are."""
    return ", ".join(name for name in _FILES if not _is_whole(Path(directory) / name))


def _is_whole(file: Path) -> bool:
    try:
        return b"-----END" in file.read_bytes()
    except OSError:
        return False


async def wait_for_files(directory: str) -> None:
    """Return when the three files are there: a kubelet brings them once the controller has made the Secret.

    Raises BadSetup if the directory itself is missing: nothing would ever come.
    """
    _require(Path(directory))
    while missing_files(directory):  # noqa: ASYNC110 - a kubelet sends no notification
        await asyncio.sleep(LOOK_SECONDS)


def _require(folder: Path) -> None:
    if not folder.is_dir():
        raise BadSetup(
            f"--tls-dir {folder}: no such directory; mount a Secret with "
            "ca.crt, tls.crt and tls.key there, or leave the flag out for a Unix socket"
        )


def server_credentials(directory: str) -> grpc.ServerCredentials:
    """Credentials that follow the files, which are there."""
    folder = Path(directory)
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
