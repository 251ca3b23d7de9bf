"""A Secret that somebody has damaged, or filled with what cannot be used, ends no replica and refuses no change."""

from datetime import timedelta

import pytest

from controller.certificates.authority import can_sign, issue, new_authority
from controller.certificates.rotation import Bundle, Step, plan_rotation, rotated
from controller.certificates.secret import (
    CHANGED_AT,
    NEXT_CERT,
    NEXT_KEY,
    OLD_CERT,
    OTHERS_BEFORE,
    OTHERS_CERT,
    SecretSnapshot,
    bundle_of,
    data_of,
    ensure_bundle,
)
from tests.component.certificates.doubles import NAMES, START, Secrets
from tests.component.certificates.unfit import unfit_authorities

DAY = timedelta(days=1)
UNFIT = unfit_authorities(START)
BROKEN_PEM = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
TEXT = b"\xff garbage"


def whole() -> dict[str, bytes]:
    """The data of a Secret in the middle of a rotation."""
    bundle = rotated(None, Step.START_OVER, NAMES, START)
    return data_of(rotated(bundle, Step.ADD_AUTHORITY, NAMES, START))


@pytest.mark.parametrize("name", [*sorted(whole()), OLD_CERT, OTHERS_CERT, OTHERS_BEFORE])
@pytest.mark.parametrize("garbage", [BROKEN_PEM, TEXT], ids=["pem", "text"])
async def test_any_damaged_entry_is_healed_by_rounds(name: str, garbage: bytes) -> None:
    secrets = Secrets()
    secrets.kept["s"] = SecretSnapshot(whole() | {name: garbage}, "1")
    bundle = None
    for day in range(5):
        bundle = await ensure_bundle(secrets, "s", NAMES, True, START + day * DAY)
        assert garbage not in bundle.published
    assert bundle is not None
    assert plan_rotation(bundle, NAMES, True, START + 5 * DAY) is Step.REST


@pytest.mark.parametrize("text", ["2026-01-01", "2026-01-01T00:00:00", "2036-01-01T00:00:00+00:00"])
async def test_a_rotation_whose_time_cannot_be_used_goes_on(text: str) -> None:
    secrets = Secrets()
    secrets.kept["s"] = SecretSnapshot(whole() | {CHANGED_AT: text.encode()}, "1")
    first = await ensure_bundle(secrets, "s", NAMES, True, START + DAY)
    assert first.next_authority is not None
    second = await ensure_bundle(secrets, "s", NAMES, True, START + 2 * DAY)
    assert second.authority == first.next_authority


@pytest.mark.parametrize("case", UNFIT)
async def test_an_authority_whose_certificates_nobody_accepts_is_replaced(case: str) -> None:
    secrets, theirs = Secrets(), UNFIT[case]
    assert not can_sign(theirs)
    data = {"ca-cert.pem": theirs.certificate, "ca-key.pem": theirs.key}
    secrets.kept["s"] = SecretSnapshot(data, "1")
    bundle = await ensure_bundle(secrets, "s", NAMES, True, START)
    assert bundle.authority != theirs
    assert can_sign(bundle.authority)


@pytest.mark.parametrize("case", UNFIT)
async def test_no_authority_whose_certificates_nobody_accepts_follows(case: str) -> None:
    secrets, theirs = Secrets(), UNFIT[case]
    data = whole() | {NEXT_CERT: theirs.certificate, NEXT_KEY: theirs.key}
    secrets.kept["s"] = SecretSnapshot(data, "1")
    bundle = await ensure_bundle(secrets, "s", NAMES, True, START + 2 * DAY)
    assert can_sign(bundle.authority)
    assert bundle.authority.certificate == data["ca-cert.pem"]


def test_a_certificate_of_a_fast_clock_is_not_served_before_its_time() -> None:
    authority = new_authority(START)
    early = Bundle(authority, issue(authority, NAMES, START + 3 * DAY), changed_at=START)
    assert plan_rotation(early, NAMES, True, START) is Step.ISSUE
    issued = rotated(early, Step.ISSUE, NAMES, START)
    assert plan_rotation(issued, NAMES, True, START) is Step.REST
    assert plan_rotation(issued, NAMES, True, START + 3 * DAY) is Step.REST


@pytest.mark.parametrize("hours", [-12, 12], ids=["slow", "fast"])
def test_clocks_that_differ_by_half_a_day_accept_each_others_certificates(hours: int) -> None:
    here, there = START, START + timedelta(hours=hours)
    made = rotated(None, Step.START_OVER, NAMES, there)
    assert plan_rotation(made, NAMES, True, here) is Step.REST


def test_a_certificate_that_ended_while_no_controller_ran_is_replaced_at_once() -> None:
    made = rotated(None, Step.START_OVER, NAMES, START)
    later = START + 400 * DAY
    assert plan_rotation(made, NAMES, False, later) is Step.ISSUE
    assert plan_rotation(rotated(made, Step.ISSUE, NAMES, later), NAMES, True, later) is Step.REST
    assert bundle_of(data_of(made)) == made
