"""Certificates for the connection between controller and script worker, from the same authority.

Invariant: each side trusts the authority and nothing else, and its own certificate says which side it is: the worker's
serves, the controller's calls. The worker gets its files from a Secret that a kubelet mounts; it has no credential.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from controller.certificates.authority import Pair, facts, issue, issued_by, matches
from controller.certificates.rotation import Bundle
from controller.certificates.secret import SecretStore
from controller.errors import AlreadyExists, Conflict, Postponed

WORKER_SECRET = "moonshift-lua-worker-certs"
"""Name of the Secret with the worker's serving certificate."""
CLIENT_SECRET = "moonshift-lua-worker-client-certs"
"""Name of the Secret with the controller's client certificate."""
CLIENT_NAME = "moonshift-controller"
"""Name in the controller's client certificate."""
CA_FILE, CERTIFICATE_FILE, KEY_FILE = "ca.crt", "tls.crt", "tls.key"

RENEW_BEFORE = timedelta(days=120)
_ATTEMPTS = 5


class Side(NamedTuple):
    """The files of one side, and whether they were written just now."""

    files: Mapping[str, bytes]
    written: bool


def worker_names(service: str, namespace: str) -> tuple[str, ...]:
    """Names that the worker's certificate must be valid for: its Service, and each pod behind it."""
    own = f"{service}.{namespace}.svc"
    return (
        own,
        service,
        f"*.{own}",
        f"{own}.cluster.local",
        f"*.{own}.cluster.local",
        "localhost",
    )


async def ensure_side(
    store: SecretStore,
    name: str,
    bundle: Bundle,
    names: Sequence[str],
    now: datetime,
    *,
    client: bool,
) -> Side:
    """The files of one side in the Secret `name`, created or renewed if that is due; all replicas share them."""
    for _ in range(_ATTEMPTS):
        present = await store.read(name)
        data = present.data if present else {}
        pair = Pair(data.get(CERTIFICATE_FILE, b""), data.get(KEY_FILE, b""))
        if not _good(pair, bundle, names, now):
            pair = issue(bundle.authority, names, now, client=client)
        wanted = {
            CA_FILE: bundle.trusted,
            CERTIFICATE_FILE: pair.certificate,
            KEY_FILE: pair.key,
        }
        if wanted == data:
            return Side(wanted, written=False)
        try:
            if present is None:
                await store.create(name, wanted)
            else:
                await store.replace(name, wanted, present.resource_version)
        except (AlreadyExists, Conflict):
            continue
        return Side(wanted, written=True)
    raise Postponed(1.0, f"Secret {name} is being written by others")


def _good(pair: Pair, bundle: Bundle, names: Sequence[str], now: datetime) -> bool:
    seen = facts(pair.certificate)
    if seen is None or not matches(pair) or not seen.names >= set(names):
        return False
    in_time = seen.not_before <= now and seen.not_after - now > RENEW_BEFORE
    return in_time and issued_by(pair.certificate, bundle.authority.certificate)
