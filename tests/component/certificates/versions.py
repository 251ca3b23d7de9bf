"""Certificates of versions that do not exist."""

import base64

from cryptography import x509
from cryptography.hazmat.primitives import serialization

THIRD = bytes.fromhex("a003020102")
"""The version of every certificate that is issued today, as it is encoded."""


def of_version(number: int, certificate: bytes) -> bytes:
    """The certificate with another version in its first field; nobody has signed that."""
    whole = x509.load_pem_x509_certificate(certificate).public_bytes(serialization.Encoding.DER)
    assert THIRD in whole
    text = base64.encodebytes(whole.replace(THIRD, THIRD[:-1] + bytes([number]), 1)).decode()
    return f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n".encode()
