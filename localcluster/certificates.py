"""Makes the keys and certificates of one plane.

Why it exists: the API server serves TLS and signs ServiceAccount tokens. Invariant: everything is made again for each
plane, valid for days, for 127.0.0.1 and the address of a real node, and written with mode 0600. It must never be
committed or reused.
"""

import datetime
import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALIDITY = datetime.timedelta(days=30)
SERVICE_ADDRESS = "10.0.0.1"
REAL_NODE_ADDRESS = "10.99.0.1"


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Where the files of a plane are."""

    ca: Path
    serving_certificate: Path
    serving_key: Path
    account_key: Path
    account_public: Path


def certificate_files(directory: Path) -> CertificateFiles:
    """Return the paths below `directory`, made or not."""
    return CertificateFiles(
        ca=directory / "ca.crt",
        serving_certificate=directory / "apiserver.crt",
        serving_key=directory / "apiserver.key",
        account_key=directory / "sa.key",
        account_public=directory / "sa.pub",
    )


def write_certificates(directory: Path) -> CertificateFiles:
    """Make an authority, the API server's certificate and the token signing key below `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    files = certificate_files(directory)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _authority(authority_key)
    serving_key = ec.generate_private_key(ec.SECP256R1())
    serving = _serving(serving_key, authority, authority_key)
    account_key = ec.generate_private_key(ec.SECP256R1())
    _write(files.ca, authority.public_bytes(serialization.Encoding.PEM))
    _write(files.serving_certificate, serving.public_bytes(serialization.Encoding.PEM))
    _write(files.serving_key, _private_pem(serving_key))
    _write(files.account_key, _private_pem(account_key))
    _write(files.account_public, _public_pem(account_key.public_key()))
    return files


def _builder(
    name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + VALIDITY)
    )


def _authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localcluster")])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        _builder(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _serving(
    key: ec.EllipticCurvePrivateKey, authority: x509.Certificate, signer: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
    hosts = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
    addresses = ("127.0.0.1", SERVICE_ADDRESS, REAL_NODE_ADDRESS)
    alternatives: list[x509.GeneralName] = [x509.DNSName(h) for h in hosts]
    alternatives += [x509.IPAddress(ipaddress.ip_address(a)) for a in addresses]
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return (
        _builder(name, authority.subject, key.public_key())
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(issuer, critical=False)
        .sign(signer, hashes.SHA256())
    )


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _public_pem(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
