"""A serving certificate that another issuer writes and renews in a Secret: cert-manager, a company's authority.

Why it exists: some clusters accept only certificates of their own authority. The Secret has the layout of cert-manager:
`tls.crt`, `tls.key`, `ca.crt`. Invariant: such a certificate is served only while every API server accepts it: it is
for our name and for servers, it leads to `ca.crt` of the same Secret, and all certificates on that way are valid.
Otherwise Moonshift's own certificate is served, so that a late or expired certificate stops no change in the cluster.
Pure; it must not read or write the Secret.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from controller.certificates.authority import (
    Facts,
    Pair,
    certificates,
    facts,
    issued_by,
    matches,
)
from controller.certificates.for_worker import CA_FILE, CERTIFICATE_FILE, KEY_FILE

LONGEST_CHAIN = 5
"""Certificates between ours and the authority, ours included."""
EARLIER = timedelta(minutes=1)
"""A certificate is served no longer than until this time before its end: clocks differ, and a change takes seconds."""


class Issued(msgspec.Struct, frozen=True):
    """A certificate that can be served until `until`, and the authority that configurations must carry for it."""

    serving: Pair
    authority: bytes
    until: datetime


class Unusable(msgspec.Struct, frozen=True):
    """Why the certificate cannot be served, as a sentence about the Secret; the time from which it can be, if any."""

    message: str
    begins: datetime | None = None


class _Span(NamedTuple):
    """The time in which all certificates of a chain are valid."""

    begin: datetime
    end: datetime

    def within(self, seen: Facts) -> "_Span":
        return _Span(max(self.begin, seen.not_before), min(self.end, seen.not_after))


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
    if not {called, f"*.{called.partition('.')[2]}"} & seen.names:
        return Unusable(f"its certificate is not for {called}; add that to its dnsNames")
    if not seen.serves:
        return Unusable("its certificate is not for servers; add `server auth` to its usages")
    spans = list(_spans(certificates(pair.certificate), certificates(authority)))
    if not spans:
        return Unusable("its ca.crt is not the authority that signed its tls.crt")
    return _in_time(pair, authority, seen, spans, now)


def _in_time(
    pair: Pair, authority: bytes, seen: Facts, spans: Sequence[_Span], now: datetime
) -> Issued | Unusable:
    margin = min(EARLIER, (seen.not_after - seen.not_before) / 10)
    ends = [span.end - margin for span in spans if span.begin <= now < span.end - margin]
    if ends:
        return Issued(pair, authority, max(ends))
    begins = min((span.begin for span in spans if now < span.begin < span.end), default=None)
    longest = max(spans, key=lambda span: span.end)
    return Unusable(
        f"its certificate, with its chain and its ca.crt, holds from {longest.begin} to {longest.end}",
        begins,
    )


def _spans(chain: Sequence[bytes], trusted: Sequence[bytes]) -> Iterator[_Span]:
    """The time of each way from the first certificate to a trusted one: each is signed by the next, or is trusted."""
    span = _Span(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
    for certificate, following in zip(chain[:LONGEST_CHAIN], (*chain[1:], None), strict=False):
        seen = facts(certificate)
        if seen is None:
            return
        span = span.within(seen)
        if certificate in trusted:
            yield span
        signers = (found for one in trusted if (found := _signer(certificate, one)))
        yield from (span.within(signer) for signer in signers)
        if following is None or _signer(certificate, following) is None:
            return


def _signer(certificate: bytes, authority: bytes) -> Facts | None:
    """The authority, if it may sign and has signed this certificate."""
    seen = facts(authority)
    return seen if seen and seen.signs and issued_by(certificate, authority) else None
