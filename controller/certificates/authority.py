"""Making and reading keys and certificates: ECDSA P-256, PEM.

Invariant: pure functions of their arguments, except for fresh keys and serial numbers; time is passed in. Keys of other
makes (the original's are RSA) are read and used as they are.
"""

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_NAME = "moonshift-authority"
AUTHORITY_LIFETIME = timedelta(days=3650)
CERTIFICATE_LIFETIME = timedelta(days=365)
_Extension = TypeVar("_Extension", bound=x509.ExtensionType)
_SKEW = timedelta(days=1)
"""Certificates are valid from earlier on: clocks differ, by hours if a machine takes local time for UTC."""
UNREADABLE = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)
"""Errors of reading a key or a certificate that somebody else wrote."""


class Pair(msgspec.Struct, frozen=True):
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Facts(msgspec.Struct, frozen=True):
    """The properties of a certificate that matter here; `fingerprint` identifies it.

    `signs`: clients accept it as the authority of others. `serves`: clients accept it from a server.
    """

    fingerprint: str
    not_before: datetime
    not_after: datetime
    names: frozenset[str] = frozenset()
    signs: bool = False
    serves: bool = True


def new_authority(now: datetime) -> Pair:
    """A self-signed authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    # The name carries the instant: two authorities of a rotation must not have the same subject.
    name = _name(f"{AUTHORITY_NAME}-{now:%Y%m%d%H%M%S}")
    usage = _key_usage(authority=True)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _pair(certificate, key)


def issue(authority: Pair, names: Sequence[str], now: datetime, *, client: bool = False) -> Pair:
    """A certificate for `names` (DNS names or IP addresses, the first is its subject), to serve or to call with."""
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    issuer_key = _issuer_key(authority.key)
    key = ec.generate_private_key(ec.SECP256R1())
    usage = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
    end = min(now + CERTIFICATE_LIFETIME, issuer.not_valid_after_utc)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    certificate = (
        x509.CertificateBuilder(
            issuer.subject, _name(names[0]), key.public_key(), x509.random_serial_number()
        )
        .not_valid_before(now - _SKEW)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([_alternative(n) for n in names]), critical=False
        )
        .add_extension(identifier, critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
    return _pair(certificate, key)


def facts(certificate: bytes) -> Facts | None:
    """The properties of the (first) certificate, or None if none can be read."""
    try:
        read = x509.load_pem_x509_certificate(certificate)
        return Facts(
            read.fingerprint(hashes.SHA256()).hex(),
            read.not_valid_before_utc,
            read.not_valid_after_utc,
            _names_of(read),
            _signs(read),
            _serves(read),
        )
    except UNREADABLE:
        return None


def certificates(pem: bytes) -> list[bytes]:
    """Each certificate of a PEM file; none if one of them cannot be read."""
    try:
        read = x509.load_pem_x509_certificates(pem)
    except UNREADABLE:
        return []
    return [one.public_bytes(serialization.Encoding.PEM) for one in read]


def can_sign(authority: Pair) -> bool:
    """Whether `issue` works with this authority, and clients accept its certificates."""
    seen = facts(authority.certificate)
    if seen is None or not seen.signs or not certificates(authority.certificate):
        return False
    try:
        _issuer_key(authority.key)
    except UNREADABLE:
        return False
    return matches(authority)


def issued_by(certificate: bytes, authority: bytes) -> bool:
    """Whether `authority` signed `certificate`."""
    try:
        read = x509.load_pem_x509_certificate(certificate)
        read.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))
    except (*UNREADABLE, InvalidSignature):
        return False
    return True


def matches(pair: Pair) -> bool:
    """Whether the key belongs to the certificate."""
    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate)
        key = serialization.load_pem_private_key(pair.key, None)
    except UNREADABLE:
        return False
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return certificate.public_key().public_bytes(*form) == key.public_key().public_bytes(*form)


def _names_of(certificate: x509.Certificate) -> frozenset[str]:
    found = _extension(certificate, x509.SubjectAlternativeName)
    if found is None:
        return frozenset()
    addresses = (str(address) for address in found.get_values_for_type(x509.IPAddress))
    return frozenset({*found.get_values_for_type(x509.DNSName), *addresses})


def _signs(certificate: x509.Certificate) -> bool:
    constraints = _extension(certificate, x509.BasicConstraints)
    usage = _extension(certificate, x509.KeyUsage)
    return constraints is not None and constraints.ca and (usage is None or usage.key_cert_sign)


def _serves(certificate: x509.Certificate) -> bool:
    usages = _extension(certificate, x509.ExtendedKeyUsage)
    allowing = {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
    return usages is None or not allowing.isdisjoint(usages)


def _extension(certificate: x509.Certificate, kind: type[_Extension]) -> _Extension | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _issuer_key(pem: bytes) -> ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey:
    key = serialization.load_pem_private_key(pem, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise TypeError(f"an authority cannot sign with a key of type {type(key).__name__}")
    return key


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
