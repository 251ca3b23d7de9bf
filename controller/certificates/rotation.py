"""The steps and times of a rotation of certificates.

The order of a rotation: a second authority is created and published in addition to the first. Once every configuration
has had both for a while, the second one issues the serving certificate. Once every replica serves it, the first
authority is removed. So no client ever gets a certificate whose authority it does not know.

A Secret that was deleted or is unusable is written again from a replica's memory, and a rotation begins: the person who
deleted it wanted another authority. A Secret that somebody replaced by another keeps the authority that replicas still
serve by.

Invariant: pure. `plan_rotation` returns the one next step; repeating this ends in `Rest`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from controller.certificates.authority import (
    Facts,
    Pair,
    can_sign,
    facts,
    issue,
    issued_by,
    matches,
    new_authority,
)
from controller.certificates.former_authority import NOBODY, SETTLE, IssuingAuthorities

RENEW_AUTHORITY_BEFORE = timedelta(days=365)
RENEW_CERTIFICATE_BEFORE = timedelta(days=120)
SHORTEST_SETTLE = timedelta(seconds=10)
"""The shortest time that may replace `SETTLE` when an authority is about to expire."""


class Bundle(msgspec.Struct, frozen=True):
    """The content of the Secret.

    `authority` signs; `next_authority` is published and will sign; `old_authority` is published and no longer signs.
    Each instant is the time of the last change of that sort, so that all replicas agree which changes have settled.
    `others` are the authorities of other issuers that sign the webhooks' certificates.
    """

    authority: Pair
    serving: Pair
    next_authority: Pair | None = None
    old_authority: bytes = b""
    changed_at: datetime | None = None
    others: IssuingAuthorities = NOBODY

    @property
    def trusted(self) -> bytes:
        """Our own authorities as one PEM file: no other authority may sign for the connection to the worker."""
        following = self.next_authority.certificate if self.next_authority else b""
        return _joined(self.authority.certificate, following, self.old_authority)

    @property
    def published(self) -> bytes:
        """The authorities that configurations must carry, as one PEM file."""
        return _joined(self.trusted, self.others.authority, self.others.before)


def _joined(*parts: bytes) -> bytes:
    return b"".join(part if part.endswith(b"\n") else part + b"\n" for part in parts if part)


class Step(StrEnum):
    """The next action."""

    REST = "Rest"
    START_OVER = "StartOver"
    ADD_AUTHORITY = "AddAuthority"
    SWITCH_AUTHORITY = "SwitchAuthority"
    DROP_OLD_AUTHORITY = "DropOldAuthority"
    ISSUE = "Issue"
    WAIT = "Wait"


def plan_rotation(
    bundle: Bundle | None, names: Sequence[str], published: bool, now: datetime
) -> Step:
    """The next step. `published`: every configuration carries all authorities of the bundle."""
    if bundle is None or not _usable(bundle.authority, now):
        return Step.START_OVER
    if not _serves(bundle, names, now):
        return Step.ISSUE
    if bundle.next_authority is not None:
        return Step.SWITCH_AUTHORITY if published and _settled(bundle, now) else Step.WAIT
    if bundle.old_authority:
        return Step.DROP_OLD_AUTHORITY if _settled(bundle, now) else Step.WAIT
    if _ends_within(facts(bundle.authority.certificate), RENEW_AUTHORITY_BEFORE, now):
        return Step.ADD_AUTHORITY
    return Step.REST


def rotated(bundle: Bundle | None, step: Step, names: Sequence[str], now: datetime) -> Bundle:
    """The bundle after `step`."""
    if bundle is None or step is Step.START_OVER:
        authority = new_authority(now)
        others = bundle.others if bundle else NOBODY
        return Bundle(authority, issue(authority, names, now), changed_at=now, others=others)
    replace = msgspec.structs.replace
    if step is Step.ISSUE:
        return replace(bundle, serving=issue(bundle.authority, names, now))
    if step is Step.ADD_AUTHORITY:
        return replace(bundle, next_authority=new_authority(now), changed_at=now)
    if step is Step.SWITCH_AUTHORITY and bundle.next_authority is not None:
        following = bundle.next_authority
        return Bundle(
            authority=following,
            serving=issue(following, names, now),
            old_authority=bundle.authority.certificate,
            changed_at=now,
            others=bundle.others,
        )
    if step is Step.DROP_OLD_AUTHORITY:
        return replace(bundle, old_authority=b"", changed_at=now)
    return bundle


def _usable(authority: Pair, now: datetime) -> bool:
    seen = facts(authority.certificate)
    return seen is not None and can_sign(authority) and seen.not_before <= now < seen.not_after


def _serves(bundle: Bundle, names: Sequence[str], now: datetime) -> bool:
    seen = facts(bundle.serving.certificate)
    if seen is None or not matches(bundle.serving):
        return False
    signed = any(
        issued_by(bundle.serving.certificate, authority)
        for authority in (bundle.authority.certificate, bundle.old_authority)
    )
    # A young authority near its own end cannot make the certificate live longer: no use in trying again.
    limited = _ends_within(facts(bundle.authority.certificate), RENEW_CERTIFICATE_BEFORE, now)
    fresh = not _ends_within(seen, RENEW_CERTIFICATE_BEFORE, now) or limited
    return signed and fresh and seen.not_before <= now < seen.not_after and seen.names >= set(names)


def _ends_within(seen: Facts | None, margin: timedelta, now: datetime) -> bool:
    return seen is None or seen.not_after - now < margin


def _settled(bundle: Bundle, now: datetime) -> bool:
    return bundle.changed_at is not None and now - bundle.changed_at >= _settling(bundle)


def _settling(bundle: Bundle) -> timedelta:
    """The time until the last change is known everywhere; near the end of an authority, a quarter of its remaining
    time.
    """
    seen = facts(bundle.authority.certificate)
    if seen is None or bundle.changed_at is None:
        return SETTLE
    return max(SHORTEST_SETTLE, min(SETTLE, (seen.not_after - bundle.changed_at) / 4))


def dated(bundle: Bundle, now: datetime) -> Bundle:
    """The bundle with a time of its last change that can be used: after a lost one no step would ever follow."""
    waiting = bundle.next_authority is not None or bundle.old_authority
    known = bundle.changed_at is not None and bundle.changed_at <= now + SETTLE
    return bundle if known or not waiting else msgspec.structs.replace(bundle, changed_at=now)


def due_within(bundle: Bundle, now: datetime) -> timedelta:
    """The time until the next step by schedule; zero or less: now."""
    certificates = (bundle.authority.certificate, bundle.serving.certificate)
    ends = [seen.not_after - now for one in certificates if (seen := facts(one)) is not None]
    if bundle.changed_at is not None and (bundle.next_authority or bundle.old_authority):
        ends.append(bundle.changed_at + _settling(bundle) - now)
    if bundle.others.before and bundle.others.changed_at is not None:
        ends.append(bundle.others.changed_at + SETTLE - now)
    return min(ends, default=timedelta(0))


def recovered(
    found: Bundle | None, remembered: Bundle | None, names: Sequence[str], now: datetime
) -> Bundle | None:
    """The Secret's content after somebody deleted, damaged or replaced it; None: nothing to recover.

    `remembered` is the content that this replica saw last, and uses.
    """
    if remembered is None or not _usable(remembered.authority, now):
        return None
    if found is None or not _usable(found.authority, now):
        if remembered.next_authority is not None:
            return remembered
        return rotated(remembered, Step.ADD_AUTHORITY, names, now)
    served = remembered.authority.certificate
    if served in found.trusted or found.old_authority:
        return None
    return msgspec.structs.replace(found, old_authority=served, changed_at=now)
