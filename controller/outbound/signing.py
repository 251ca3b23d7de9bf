"""How a request of a script is signed: AWS (Signature Version 4), Google (a JWT for a token), or HMAC over the content.

Invariant: pure; the time is an argument. The script says only that a request is signed: the keys are values of Secrets,
which never reach it. The signed bytes are the sent ones, so a form is written out as a body before.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote, urlencode

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from yarl import URL

from controller.api.analysis import Header, SecretKey
from controller.api.decoding import decoded
from controller.domain.exchange.request import Signature
from controller.outbound.request import Failed, Request, Signing

USUAL_HEADER = "X-Signature-256"
SCOPE = "https://www.googleapis.com/auth/"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SECONDS_OF_AN_ASSERTION = 600
_AWS = "AWS4-HMAC-SHA256"
_SIGNED_BESIDE_AMZ = ("content-type", "host")
_AMAZON = (".amazonaws.com", ".amazonaws.com.cn")


class Signed(msgspec.Struct, frozen=True):
    """What is signed."""

    method: str
    url: URL
    headers: Mapping[str, str]
    body: bytes


def aws(
    asked: Signed, keys: Mapping[str, str], service: str, region: str, at: int
) -> dict[str, str]:
    """The headers that Signature Version 4 adds."""
    time = datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
    added = {"X-Amz-Date": time}
    if token := keys.get("sessionToken"):
        added["X-Amz-Security-Token"] = token
    sent = {**asked.headers, **added, "Host": _host(asked.url)}
    lower = {name.lower(): " ".join(text.split()) for name, text in sent.items()}
    names = sorted(n for n in lower if n in _SIGNED_BESIDE_AMZ or n.startswith("x-amz-"))
    lines = (
        asked.method,
        quote(asked.url.raw_path or "/", safe="/~"),
        _query(asked.url),
        *(f"{name}:{lower[name]}" for name in names),
        "",
        ";".join(names),
        hashlib.sha256(asked.body).hexdigest(),
    )
    scope = f"{time[:8]}/{region}/{service}/aws4_request"
    text = "\n".join((_AWS, time, scope, hashlib.sha256("\n".join(lines).encode()).hexdigest()))
    key = f"AWS4{keys.get('secretAccessKey', '')}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"Credential={keys.get('accessKeyID', '')}/{scope}"
    proof = f"{_AWS} {credential}, SignedHeaders={';'.join(names)}, Signature={signature}"
    return {**added, "Authorization": proof}


def region_of(url: URL) -> str:
    """The region in a host of AWS, `monitoring.eu-central-1.amazonaws.com`; empty in any other host."""
    host = (url.host or "").lower()
    for end in _AMAZON:
        if host.endswith(end):
            return host.removesuffix(end).rpartition(".")[2]
    return ""


def _host(url: URL) -> str:
    return (url.host_subcomponent or "") + ("" if url.is_default_port() else f":{url.port}")


def _query(url: URL) -> str:
    pairs = parse_qsl(url.raw_query_string, keep_blank_values=True)
    written = sorted((quote(name, safe="~"), quote(text, safe="~")) for name, text in pairs)
    return "&".join(f"{name}={text}" for name, text in written)


def by_hmac(asked: Signed, key: str, header: str) -> dict[str, str]:
    """The header with the HMAC of the content, as GitHub's webhooks write it."""
    signature = hmac.digest(key.encode(), asked.body, "sha256").hex()
    return {header or USUAL_HEADER: f"sha256={signature}"}


def signature(asked: Signed, how: Signing, keys: Mapping[str, str]) -> dict[str, str]:
    """The headers of a signature that needs no other server. Raises `Failed`."""
    if how.by is Signature.HMAC:
        return by_hmac(asked, keys["hmacKey"], how.service)
    region = how.region or region_of(asked.url)
    if not region:
        raise Failed(
            f"{asked.url.origin()} names no region of AWS: give the script a parameter region"
        )
    return aws(asked, keys, how.service, region, how.at)


def values_to_hide(request: Request, filled_in: Mapping[SecretKey, str]) -> tuple[str, ...]:
    """The values that no answer may repeat; of an account of Google its key, because the rest is known to everybody."""
    keys = dict(request.signing.keys) if request.signing is not None else {}
    account = keys.get("serviceAccount")
    if account is None:
        return tuple(filled_in.values())
    rest = (text for key, text in filled_in.items() if key != account)
    return (*rest, account_of(filled_in[account]).private_key)


def written_out(request: Request) -> Request:
    """The request with its form as a body: what is signed is what is sent."""
    if not request.form:
        return request
    headers = (*request.headers, Header("Content-Type", "application/x-www-form-urlencoded"))
    return msgspec.structs.replace(
        request, method=request.sent_by, form=(), body=urlencode(request.form), headers=headers
    )


class Account(msgspec.Struct, frozen=True):
    """The file of a service account of Google."""

    client_email: str
    private_key: str
    token_uri: str
    private_key_id: str = ""


def account_of(text: str) -> Account:
    """The account of a file. Raises `Failed`, without anything of the file."""
    try:
        return decoded(text.encode(), Account)
    except msgspec.DecodeError as error:
        raise Failed(
            "serviceAccount is no key file of a service account of Google: it has client_email, private_key and "
            "token_uri as JSON"
        ) from error


def assertion(account: Account, scope: str, at: int) -> str:
    """The signed JWT that is exchanged for a token. Raises `Failed`."""
    try:
        key = serialization.load_pem_private_key(account.private_key.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise Failed("private_key of serviceAccount is no key in PEM") from error
    if not isinstance(key, rsa.RSAPrivateKey):
        raise Failed("private_key of serviceAccount is no RSA key")
    head = {"alg": "RS256", "typ": "JWT", "kid": account.private_key_id}
    claims = {
        "iss": account.client_email,
        "scope": SCOPE + scope,
        "aud": account.token_uri,
        "iat": at,
        "exp": at + SECONDS_OF_AN_ASSERTION,
    }
    text = f"{_part(msgspec.json.encode(head))}.{_part(msgspec.json.encode(claims))}"
    signature = key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{text}.{_part(signature)}"


def _part(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
