"""The Secret that replicas share: its layout, and create-or-read between them.

Invariant: the first writer wins and the others read; an update carries the resource version that was read. The
original's keys are kept, and an authority of the original is used until it expires.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from controller.certificates.authority import Pair, can_sign, certificates
from controller.certificates.former_authority import NOBODY, IssuingAuthorities, updated
from controller.certificates.rotation import (
    Bundle,
    Step,
    dated,
    plan_rotation,
    recovered,
    rotated,
)
from controller.errors import AlreadyExists, Conflict, Postponed

CA_CERT, CA_KEY = "ca-cert.pem", "ca-key.pem"
CERT, KEY = "cert.pem", "key.pem"
TLS_CERT, TLS_KEY = "tls.crt", "tls.key"
NEXT_CERT, NEXT_KEY = "next-ca-cert.pem", "next-ca-key.pem"
OLD_CERT = "old-ca-cert.pem"
CHANGED_AT = "changed-at"
OTHERS_CERT, OTHERS_BEFORE = "others-ca-cert.pem", "others-old-ca-cert.pem"
OTHERS_CHANGED_AT = "others-changed-at"

LOST = "the Secret of the certificates was lost or changed"
_ATTEMPTS = 5

log = logging.getLogger(__name__)


class SecretSnapshot(msgspec.Struct, frozen=True):
    """A Secret as it was read: decoded data and the version to write against."""

    data: Mapping[str, bytes]
    resource_version: str = ""


class SecretStore(Protocol):
    """Secrets of the controller's own namespace."""

    async def read(self, name: str) -> SecretSnapshot | None:
        """The Secret, or None."""
        ...

    async def create(self, name: str, data: Mapping[str, bytes]) -> None:
        """Create the Secret; raises AlreadyExists."""
        ...

    async def replace(self, name: str, data: Mapping[str, bytes], resource_version: str) -> None:
        """Write all its data; raises Conflict if it changed since it was read."""
        ...


def bundle_of(data: Mapping[str, bytes]) -> Bundle | None:
    """The decoded data of a Secret; None if the authority is missing (then everything is created again)."""
    if not data.get(CA_CERT) or not data.get(CA_KEY):
        return None
    following = Pair(data.get(NEXT_CERT, b""), data.get(NEXT_KEY, b""))
    return Bundle(
        authority=Pair(data[CA_CERT], data[CA_KEY]),
        serving=Pair(
            data.get(TLS_CERT) or data.get(CERT, b""), data.get(TLS_KEY) or data.get(KEY, b"")
        ),
        next_authority=following if can_sign(following) else None,
        old_authority=_authorities(data, OLD_CERT),
        changed_at=_instant(data.get(CHANGED_AT, b"")),
        others=IssuingAuthorities(
            _authorities(data, OTHERS_CERT),
            _authorities(data, OTHERS_BEFORE),
            _instant(data.get(OTHERS_CHANGED_AT, b"")),
        ),
    )


def _authorities(data: Mapping[str, bytes], name: str) -> bytes:
    """The certificates under this name; none if one of them cannot be read: nobody may publish garbage for us."""
    found = data.get(name, b"")
    return found if certificates(found) else b""


def data_of(bundle: Bundle) -> dict[str, bytes]:
    """A bundle as a Secret's data."""
    following = bundle.next_authority
    data = {
        CA_CERT: bundle.authority.certificate,
        CA_KEY: bundle.authority.key,
        CERT: bundle.serving.certificate,
        KEY: bundle.serving.key,
        TLS_CERT: bundle.serving.certificate,
        TLS_KEY: bundle.serving.key,
        NEXT_CERT: following.certificate if following else b"",
        NEXT_KEY: following.key if following else b"",
        OLD_CERT: bundle.old_authority,
        CHANGED_AT: _written(bundle.changed_at),
        OTHERS_CERT: bundle.others.authority,
        OTHERS_BEFORE: bundle.others.before,
        OTHERS_CHANGED_AT: _written(bundle.others.changed_at),
    }
    return {name: value for name, value in data.items() if value}


def _written(instant: datetime | None) -> bytes:
    return instant.isoformat().encode() if instant else b""


def _instant(text: bytes) -> datetime | None:
    try:
        found = datetime.fromisoformat(text.decode())
    except ValueError:
        return None
    return found if found.tzinfo else None


async def ensure_bundle(
    store: SecretStore,
    name: str,
    names: Sequence[str],
    published: bool,
    now: datetime,
    remembered: Bundle | None = None,
    others: bytes | None = b"",
) -> Bundle:
    """The bundle in the Secret `name` after all steps that are due; another replica's writes count as ours.

    `published` says whether all configurations have the bundle's authorities, by the last `Publisher.publish`;
    `remembered` is the content that this replica saw last; `others` is the authority of a served certificate of
    another issuer (None: not known now, so it is kept).
    """
    for _ in range(_ATTEMPTS):
        present = await store.read(name)
        found = bundle_of(present.data) if present else None
        bundle = found and dated(found, now)
        step = plan_rotation(bundle, names, published, now)
        lost = recovered(bundle, remembered, names, now)
        rotating = lost is not None or step not in (Step.REST, Step.WAIT)
        following = lost or rotated(bundle, step, names, now)
        following = _with_others(following, bundle or remembered, others, now)
        if not rotating and following == found:
            return following
        try:
            if present is None:
                await store.create(name, data_of(following))
            else:
                await store.replace(name, data_of(following), present.resource_version)
        except (AlreadyExists, Conflict):
            continue
        if lost is not None:
            log.warning(LOST, extra={"secret": name})
        if lost is not None or step is not Step.ISSUE:
            # The configurations no longer have all trusted authorities.
            published = False
    raise Postponed(1.0, f"Secret {name} is being written by others")


def _with_others(
    bundle: Bundle, seen: Bundle | None, others: bytes | None, now: datetime
) -> Bundle:
    present = seen.others if seen else NOBODY
    authority = present.authority if others is None else others
    return msgspec.structs.replace(bundle, others=updated(present, authority, now))
