"""Other issuers' authorities that are published in addition to our own: the present one, and the one before it.

Why it exists: when another authority signs the certificate, replicas that have not read it yet serve the old one.
Meanwhile an API server that trusts only the new authority would refuse every change. Both authorities are kept in the
Secret that replicas share, so that all of them publish the same. Invariant: pure; an authority stays published for
`SETTLE` after another one replaced it.
"""

from datetime import datetime, timedelta

import msgspec

SETTLE = timedelta(days=1)
"""The time in which every API server sees a configuration, and every replica reads the Secret and loads its pair."""


class IssuingAuthorities(msgspec.Struct, frozen=True):
    """`authority` signs the served certificate (empty: our own does); `before` did until `changed_at`."""

    authority: bytes = b""
    before: bytes = b""
    changed_at: datetime | None = None


NOBODY = IssuingAuthorities()


def updated(present: IssuingAuthorities, authority: bytes, now: datetime) -> IssuingAuthorities:
    """Both authorities once `authority` signs the served certificate; empty if our own does."""
    if present.authority != authority:
        before = present.authority or present.before
        return IssuingAuthorities(authority, b"" if before == authority else before, now)
    settled = present.changed_at is None or now - present.changed_at >= SETTLE
    return IssuingAuthorities(authority) if settled else present
