"""The order of a rotation: no client ever gets a certificate whose authority it does not know."""

from datetime import datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from controller.certificates.authority import facts, issued_by, matches
from controller.certificates.former_authority import SETTLE
from controller.certificates.rotation import Step, plan_rotation, rotated
from controller.certificates.secret import (
    bundle_of,
    data_of,
    ensure_bundle,
)
from controller.errors import (
    Postponed,
)
from tests.component.certificates.doubles import NAMES, START, Secrets


async def ensured(secrets: Secrets, now: datetime, *, published: bool = True) -> bytes:
    """One round; the serving certificate."""
    bundle = await ensure_bundle(secrets, "s", NAMES, published, now)
    assert matches(bundle.serving)
    return bundle.serving.certificate


async def test_the_first_replica_makes_and_the_second_reads() -> None:
    secrets = Secrets()
    first = await ensured(secrets, START)
    assert await ensured(secrets, START + timedelta(days=1)) == first
    assert secrets.writes == 1
    names = {"ca-cert.pem", "ca-key.pem", "cert.pem", "key.pem", "tls.crt", "tls.key"}
    assert names <= secrets.kept["s"].data.keys()
    seen = facts(first)
    assert seen is not None
    assert seen.names == set(NAMES)


async def test_the_first_writer_wins() -> None:
    secrets, other = Secrets(), Secrets()
    theirs = await ensured(other, START)
    secrets.race = other.kept["s"].data
    assert await ensured(secrets, START) == theirs


async def test_a_secret_that_is_never_free_is_given_up_for_now() -> None:
    secrets = Secrets()
    secrets.always_busy = True
    with pytest.raises(Postponed):
        await ensured(secrets, START)


async def test_a_serving_certificate_is_renewed_by_the_same_authority() -> None:
    secrets = Secrets()
    first = await ensured(secrets, START)
    authority = secrets.kept["s"].data["ca-cert.pem"]
    second = await ensured(secrets, START + timedelta(days=300))
    assert second != first
    assert issued_by(second, authority)


async def test_other_names_need_another_certificate() -> None:
    secrets = Secrets()
    await ensured(secrets, START)
    bundle = await ensure_bundle(secrets, "s", ("new.svc",), True, START)
    seen = facts(bundle.serving.certificate)
    assert seen is not None
    assert seen.names == {"new.svc"}


async def test_a_rotation_never_serves_an_untrusted_certificate() -> None:
    secrets = Secrets()
    now = START + timedelta(days=3650 - 364)
    await ensured(secrets, START)
    await ensured(secrets, now - timedelta(days=2))
    trusted = bundle_trusted(secrets)
    steps = []
    for _ in range(60):
        before = bundle_of(secrets.kept["s"].data)
        assert before is not None
        step = plan_rotation(before, NAMES, True, now)
        steps.append(step)
        serving = await ensured(secrets, now)
        # The authorities that clients trusted before this round still work, and after it the new set does.
        after = bundle_trusted(secrets)
        for authorities in (trusted, after):
            assert any(issued_by(serving, authority) for authority in authorities)
        trusted = after
        now += SETTLE / 2
    order = [
        step for step in dict.fromkeys(steps) if step not in (Step.WAIT, Step.REST, Step.ISSUE)
    ]
    assert order == [Step.ADD_AUTHORITY, Step.SWITCH_AUTHORITY, Step.DROP_OLD_AUTHORITY]
    assert steps[-1] is Step.REST
    assert len(trusted) == 1


def bundle_trusted(secrets: Secrets) -> list[bytes]:
    """Every authority the bundle wants trusted."""
    bundle = bundle_of(secrets.kept["s"].data)
    assert bundle is not None
    marker = b"-----BEGIN CERTIFICATE-----"
    return [marker + part for part in bundle.trusted.split(marker) if part]


def test_nothing_is_switched_before_all_configurations_carry_both() -> None:
    bundle = rotated(None, Step.START_OVER, NAMES, START)
    bundle = rotated(bundle, Step.ADD_AUTHORITY, NAMES, START)
    later = START + SETTLE
    assert plan_rotation(bundle, NAMES, False, later) is Step.WAIT
    assert plan_rotation(bundle, NAMES, True, START) is Step.WAIT
    assert plan_rotation(bundle, NAMES, True, later) is Step.SWITCH_AUTHORITY


def test_an_unusable_authority_means_starting_over() -> None:
    bundle = rotated(None, Step.START_OVER, NAMES, START)
    assert plan_rotation(None, NAMES, True, START) is Step.START_OVER
    assert plan_rotation(bundle, NAMES, True, START + timedelta(days=4000)) is Step.START_OVER
    data = data_of(bundle) | {"ca-key.pem": b"nonsense"}
    assert plan_rotation(bundle_of(data), NAMES, True, START) is Step.START_OVER
    data = data_of(bundle) | {"tls.crt": b"nonsense"}
    assert plan_rotation(bundle_of(data), NAMES, True, START) is Step.ISSUE
    assert bundle_of({}) is None


def test_a_step_that_is_none_changes_nothing() -> None:
    bundle = rotated(None, Step.START_OVER, NAMES, START)
    assert rotated(bundle, Step.REST, NAMES, START) == bundle
    assert bundle_of(data_of(bundle)) == bundle


def test_an_authority_made_by_another_is_used_on() -> None:
    """RSA with a PKCS#1 key, as an older installation leaves it."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webhook-cert-ca")])
    theirs = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(START)
        .not_valid_after(START + timedelta(days=3650))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    format_ = serialization.PrivateFormat.TraditionalOpenSSL
    data = {
        "ca-cert.pem": theirs.public_bytes(pem),
        "ca-key.pem": key.private_bytes(pem, format_, serialization.NoEncryption()),
    }
    bundle = bundle_of(data)
    assert plan_rotation(bundle, NAMES, True, START) is Step.ISSUE
    renewed = rotated(bundle, Step.ISSUE, NAMES, START)
    assert issued_by(renewed.serving.certificate, data["ca-cert.pem"])
