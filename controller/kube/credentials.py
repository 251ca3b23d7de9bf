"""The places of credentials, and the token that is sent with each request.

Invariants: a token that can change is read again, every minute and at once after a 401; a request that was
refused for its token is repeated only with another one; many refusals at once cause one renewal. Nothing here
opens a connection.
"""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from controller.errors import BadConfiguration

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_MAX_AGE = 60.0  # seconds; the kubelet renews the file long before a token expires
RENEWAL_PAUSE = 10.0  # seconds between two runs of a kubeconfig's own log-in program


class Impersonation(msgspec.Struct, frozen=True):
    """The user that requests impersonate; an empty user means no impersonation."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Source(msgspec.Struct, frozen=True):
    """Exactly one of kubeconfig, service account directory and plain address, and a person's other settings."""

    kubeconfig: str = ""
    context: str | None = None
    service_account: str = ""
    url: str = ""
    cluster: str | None = None
    user: str | None = None
    impersonation: Impersonation = Impersonation()
    for_a_person: bool = False
    """Proxies of the environment are used, as kubectl does."""


def choose_source(
    kubeconfig: str | None, context: str | None, environ: Mapping[str, str] = os.environ
) -> Source:
    """The file that was named, else $KUBECONFIG, else the pod's account, else ~/.kube/config.

    A kubeconfig that happens to lie in the image never wins over the pod's own account.
    """
    named = kubeconfig or environ.get("KUBECONFIG", "")
    if named:
        return Source(kubeconfig=named, context=context)
    in_cluster = "KUBERNETES_SERVICE_HOST" in environ and Path(SERVICE_ACCOUNT, "token").exists()
    if in_cluster and not context:
        return Source(service_account=SERVICE_ACCOUNT)
    usual = Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config"
    if usual.exists():
        return Source(kubeconfig=str(usual), context=context)
    if context:
        raise BadConfiguration(
            f"--context {context} names a context of a kubeconfig, and there is none: {usual} does not exist; give "
            "--kubeconfig, or set KUBECONFIG"
        )
    raise BadConfiguration(
        "no API server to talk to: give --kubeconfig, set KUBECONFIG, or run in a pod with a service account"
    )


class Token:
    """The bearer token of one client: fixed, from a file, or from the kubeconfig's log-in program."""

    def __init__(
        self, fixed: str = "", path: str = "", renew: Callable[[], Awaitable[str]] | None = None
    ) -> None:
        self._value = fixed.strip()
        self._path = path
        self._renew = renew
        self._read_at: float | None = None
        self._renewed_at: float | None = None
        self._renewing = asyncio.Lock()

    def current(self) -> str:
        """The token to send now; may be empty."""
        if self._path:
            now = asyncio.get_running_loop().time()
            if self._read_at is None or now - self._read_at >= TOKEN_MAX_AGE:
                self._read()
        return self._value

    async def after_refusal(self, refused: str) -> str | None:
        """A token that differs from the refused one, if there is one."""
        if self._path and self._value == refused:
            self._read()
        elif self._renew:
            async with self._renewing:
                now = asyncio.get_running_loop().time()
                waited = self._renewed_at is None or now - self._renewed_at >= RENEWAL_PAUSE
                if self._value == refused and waited:
                    self._renewed_at = now
                    self._value = await self._renew()
        return self._value if self._value != refused else None

    def _read(self) -> None:
        self._read_at = asyncio.get_running_loop().time()
        # a missing file keeps the token we have: the kubelet swaps a symlink
        with contextlib.suppress(OSError):
            self._value = Path(self._path).read_text(encoding="ascii").strip()
