"""Throw-away authorities and the directories that a mounted Secret would be."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOUR = timedelta(hours=1)
HERE = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))


def authority() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    return certificate("moonshift test authority", key, None), key


def certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    signer: tuple[x509.Certificate, ec.EllipticCurvePrivateKey] | None,
    left: timedelta = HOUR,
) -> x509.Certificate:
    """A certificate issued two hours ago that is valid for the time `left`; it has expired if that is negative."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer[0].subject if signer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * HOUR)
        .not_valid_after(now + left)
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost"), HERE]), critical=False
        )
        .sign(signer[1] if signer else key, hashes.SHA256())
    )


def write_pair(
    folder: Path,
    signer: tuple[x509.Certificate, ec.EllipticCurvePrivateKey],
    name: str,
    left: timedelta = HOUR,
) -> Path:
    """A folder with a certificate and its authority; earlier files are replaced."""
    folder.mkdir(exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    pem = serialization.Encoding.PEM
    (folder / "ca.crt").write_bytes(signer[0].public_bytes(pem))
    (folder / "tls.crt").write_bytes(certificate(name, key, signer, left).public_bytes(pem))
    (folder / "tls.key").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder
