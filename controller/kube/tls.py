"""TLS towards an API server: the authorities and the client certificate of a kubeconfig, or neither.

Invariants: no private key stays behind in a temporary file, and OpenSSL never asks for its password on the terminal; an
unusable value is refused with the field's name.
"""

import base64
import binascii
import ssl
import tempfile
from pathlib import Path

from controller.errors import BadConfiguration
from controller.kube.kubeconfig import Cluster, User


def tls_context(cluster: Cluster, user: User) -> ssl.SSLContext:
    """The authorities to trust and the certificate to present, by the kubeconfig."""
    authority = _content(
        "certificate-authority", cluster.certificate_authority_data, cluster.certificate_authority
    )
    # not create_default_context: from Python 3.13 on it refuses authorities that kubectl accepts
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if cluster.insecure_skip_tls_verify:
        if authority:
            raise BadConfiguration(
                "the kubeconfig's cluster has both insecure-skip-tls-verify and a certificate authority: remove one"
            )
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif authority:
        _trust(context, authority)
    else:
        context.load_default_certs()
    _prove(context, user)
    return context


def _trust(context: ssl.SSLContext, authority: bytes) -> None:
    try:
        context.load_verify_locations(cadata=authority.decode("ascii", "ignore"))
    except (ssl.SSLError, ValueError) as failure:
        raise BadConfiguration(
            "the certificate authority of the kubeconfig holds no certificate in PEM"
        ) from failure


def _prove(context: ssl.SSLContext, user: User) -> None:
    certificate = _content(
        "client-certificate", user.client_certificate_data, user.client_certificate
    )
    key = _content("client-key", user.client_key_data, user.client_key)
    if not certificate and not key:
        return
    if not certificate or not key:
        raise BadConfiguration(
            "the kubeconfig's user has a client certificate or a client key without the other"
        )
    with tempfile.TemporaryDirectory(prefix="moonshift-") as scratch:  # mode 0700
        files = Path(scratch, "certificate"), Path(scratch, "key")
        files[0].write_bytes(certificate)
        files[1].write_bytes(key)
        try:
            # a password, so that OpenSSL does not ask the terminal for one
            context.load_cert_chain(*files, password="")
        except (ssl.SSLError, ValueError) as failure:
            raise BadConfiguration(
                "the client certificate and key of the kubeconfig cannot be used together, or are not PEM, or the key "
                "has a password"
            ) from failure


def _content(field: str, data: str, path: str) -> bytes:
    """Data in the kubeconfig outranks a file."""
    if not data:
        return bytes_of(field, path) if path else b""
    if "-----BEGIN" in data:
        return data.encode()
    try:
        return base64.b64decode(data)
    except binascii.Error as failure:
        raise BadConfiguration(f"{field}-data of the kubeconfig is not base64") from failure


def bytes_of(field: str, path: str) -> bytes:
    """The content of a file that the kubeconfig names."""
    try:
        return Path(path).read_bytes()
    except OSError as failure:
        why = failure.strerror or type(failure).__name__
        raise BadConfiguration(
            f"{field} {path} of the kubeconfig cannot be read: {why}"
        ) from failure
