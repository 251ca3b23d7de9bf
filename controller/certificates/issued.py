"""A serving certificate that another issuer writes and renews in a Secret: cert-manager, a company's authority.

Why it exists: some clusters accept only certificates of their own authority. The Secret has the layout of cert-manager:
`tls.crt`, `tls.key`, `ca.crt`. Invariant: such a certificate is served only while it is valid, for our name, and signed
by the `ca.crt` in the same Secret. Otherwise Moonshift's own certificate is served, so that a late or expired
certificate stops no change in the cluster. Pure; it must not read or write the Secret.
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from controller.certificates.authority import UNREADABLE, Pair, facts, issued_by, matches
from controller.certificates.worker import CA_FILE, CERTIFICATE_FILE, KEY_FILE

LONGEST_CHAIN = 5
"""Certificates between ours and the authority, ours included."""
_PEM = serialization.Encoding.PEM


class Issued(msgspec.Struct, frozen=True):
    """A certificate that can be served, and the authority that configurations must carry for it."""

    serving: Pair
    authority: bytes
    not_after: datetime


class Unusable(msgspec.Struct, frozen=True):
    """Why the certificate cannot be served, as a sentence about the Secret."""

    message: str


def read_issued(data: Mapping[str, bytes] | None, called: str, now: datetime) -> Issued | Unusable:
    """The certificate in the data of the Secret (None: there is no Secret), to serve under the name `called`."""
    if data is None:
        return Unusable("it does not exist; has its issuer created it?")
    absent = [name for name in (CERTIFICATE_FILE, KEY_FILE, CA_FILE) if not data.get(name)]
    if absent:
        hint = " (choose an issuer that knows its authority, not ACME)" if CA_FILE in absent else ""
        return Unusable(f"it has no {' and no '.join(absent)}{hint}")
    pair, authority = Pair(data[CERTIFICATE_FILE], data[KEY_FILE]), data[CA_FILE]
    seen = facts(pair.certificate)
    if seen is None or not matches(pair):
        return Unusable("its tls.crt and tls.key cannot be read, or do not belong together")
    if not seen.not_before <= now < seen.not_after:
        return Unusable(f"its certificate holds from {seen.not_before} to {seen.not_after}")
    if not {called, f"*.{called.partition('.')[2]}"} & seen.names:
        return Unusable(f"its certificate is not for {called}; add that to its dnsNames")
    if not _leads_to(pair.certificate, authority):
        return Unusable("its ca.crt is not the authority that signed its tls.crt")
    return Issued(pair, authority, seen.not_after)


def _leads_to(chain: bytes, authorities: bytes) -> bool:
    """Each certificate of the chain is signed by the next, and one of them by an authority, or is one."""
    certificates, trusted = _certificates(chain)[:LONGEST_CHAIN], _certificates(authorities)
    for number, certificate in enumerate(certificates):
        if certificate in trusted or any(issued_by(certificate, one) for one in trusted):
            return True
        if not any(issued_by(certificate, one) for one in certificates[number + 1 : number + 2]):
            return False
    return False


def _certificates(pem: bytes) -> list[bytes]:
    try:
        return [one.public_bytes(_PEM) for one in x509.load_pem_x509_certificates(pem)]
    except UNREADABLE:
        return []
