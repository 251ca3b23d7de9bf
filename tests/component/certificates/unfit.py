"""Authorities whose certificates nobody accepts: they may not sign, cannot sign here, or have ended."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

from controller.certificates.authority import Pair


def unfit_authorities(now: datetime) -> Mapping[str, Pair]:
    """Each by what is wrong with it."""
    return {
        "an authority with a key of another kind": _self_signed(
            ed25519.Ed25519PrivateKey.generate(), now, ca=True
        ),
        "an authority that may not sign": _self_signed(
            ec.generate_private_key(ec.SECP256R1()), now, ca=False
        ),
    }


def renewed(authority: Pair, end: datetime) -> bytes:
    """The certificate of the same authority, with another end."""
    read = x509.load_pem_x509_certificate(authority.certificate)
    key = serialization.load_pem_private_key(authority.key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    made = x509.CertificateBuilder(read.issuer, read.subject, key.public_key(), 1)
    made = made.not_valid_before(read.not_valid_before_utc).not_valid_after(end)
    for extension in read.extensions:
        made = made.add_extension(extension.value, extension.critical)
    return made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _self_signed(
    key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey, now: datetime, *, ca: bool
) -> Pair:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "theirs")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=900))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .sign(key, None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return Pair(made.public_bytes(pem), key.private_bytes(pem, form, plain))
