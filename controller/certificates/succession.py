"""Which authority of others is published beside our own, and which one before it is published still.

Why it exists: when another authority signs the certificate, replicas that have not read it yet serve by the one before.
An API server that trusts only the new one would refuse every change for that long. The succession is kept in the Secret
that replicas share, so that all of them publish the same. Invariant: pure; an authority that was served by stays
published for `SETTLE` after another took its place.
"""

from datetime import datetime, timedelta

import msgspec

SETTLE = timedelta(days=1)
"""Time for every API server to see a configuration, and for every replica to look at the Secret and load its pair."""


class Succession(msgspec.Struct, frozen=True):
    """`authority` signs the served certificate (empty: our own does); `before` did until `changed_at`."""

    authority: bytes = b""
    before: bytes = b""
    changed_at: datetime | None = None


NOBODY = Succession()


def succeeded(present: Succession, authority: bytes, now: datetime) -> Succession:
    """The succession once `authority` signs what is served; empty where our own does."""
    if present.authority != authority:
        before = present.authority or present.before
        return Succession(authority, b"" if before == authority else before, now)
    settled = present.changed_at is None or now - present.changed_at >= SETTLE
    return Succession(authority) if settled else present
